"""The official MCP client, over standard input and output and over HTTP, with and without a handshake."""
import asyncio

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from server import PROGRAM, ServerTest, main, plain_environment

TOOLS = ["remember", "ask", "recall", "sources", "forget", "undo", "fork", "memories"]


class Mcp(ServerTest):
    async def use(self, client, memory):
        listed = await client.list_tools()
        self.assertEqual([tool.name for tool in listed.tools], TOOLS)
        hints = {tool.name: tool.annotations for tool in listed.tools}
        self.assertTrue(hints["ask"].read_only_hint and hints["forget"].destructive_hint)

        async def call(tool, **arguments):
            return await client.call_tool(tool, {"memory": memory} | arguments)

        told = await call("remember", name="note", text="The key is under the stone.")
        self.assertFalse(told.is_error, told.content)
        self.assertIn("answer", (await call("ask", question="Where is the key?")).structured_content)
        self.assertIn("data", (await call("recall", query="key", limit=2)).structured_content)
        source, = [s for s in (await call("sources")).structured_content["data"] if s["name"] == "note"]
        plan = await call("forget", source=source["id"], dry_run=True)
        self.assertEqual(plan.structured_content["sources"], ["note"])
        self.assertFalse((await call("fork", name=memory + "-2")).is_error)
        self.assertFalse((await call("forget", source=source["id"])).is_error)
        left = (await call("sources")).structured_content["data"]
        self.assertNotIn("note", [s["name"] for s in left])
        names = [m["name"] for m in (await client.call_tool("memories", {})).structured_content["data"]]
        self.assertLessEqual({memory, memory + "-2"}, set(names))
        wrong = await call("forget", source=999)  # the model's mistake, which it must see
        self.assertTrue(wrong.is_error and wrong.content[0].text)

    def test_over_http(self):
        async def run(mode):
            async with Client(self.server.url + "/mcp", mode=mode) as client:
                await self.use(client, mode)
                return client.protocol_version
        self.assertEqual(asyncio.run(run("auto")), "2026-07-28")
        self.assertEqual(asyncio.run(run("legacy")), "2025-11-25")

    def test_over_standard_input(self):
        home = self.folder / "stdio"
        home.mkdir()
        server = StdioServerParameters(command=str(PROGRAM), args=["mcp", *map(str, self.model)],
                                       env=plain_environment(MPLUS_HOME=home))

        async def run():
            async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                await self.use(session, "m")
        asyncio.run(run())


if __name__ == "__main__":
    main()
