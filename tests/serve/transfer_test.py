"""Memories carried elsewhere: one as a file, or the whole store, while others use it."""
import subprocess

from server import ServerTest, main, story, wait_for


class Transfer(ServerTest):
    def new(self, name, text):
        self.post(f"/v1/memories/{name}/documents", {"name": "0.txt", "text": text}, expect=201)

    def test_export_and_import(self):
        self.new("here", story(90, 12))
        self.say("here", "Who?")
        reply = self.server.get("/v1/memories/here/export")
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/octet-stream"))
        made = self.expected(self.server.post("/v1/memories/import?name=there", reply.body), 201)
        self.assertEqual(made["name"], "there")
        self.assertEqual(self.turns("there"), self.turns("here"))
        self.assertEqual([d["name"] for d in self.documents("there")], ["0.txt"])
        for name in ("here", "there"):
            self.assertEqual(self.post(f"/v1/memories/{name}/ask", {"question": "Who?", "max_tokens": 8})["answer"],
                             self.post("/v1/memories/here/ask", {"question": "Who?", "max_tokens": 8})["answer"])
        self.refused(self.server.post("/v1/memories/import?name=there", reply.body), 409)
        self.refused(self.server.post("/v1/memories/import?name=cut", reply.body[:-100]), 400)
        self.refused(self.server.post("/v1/memories/import?name=junk", b"junk"), 400)
        self.refused(self.server.post("/v1/memories/import", reply.body), 400, "name")
        self.refused(self.server.get("/v1/memories/cut"), 404)

    def test_backup(self):
        self.new("saved", story(300, 14))
        self.say("saved", "Who?")
        reply = self.server.get("/v1/backup")
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/x-tar"))
        (self.folder / "backup").mkdir()
        subprocess.run(["tar", "-x", "-C", self.folder / "backup"], input=reply.body, check=True)
        copy = self.start(self.folder / "backup" / "mplus-store")
        here = [memory["name"] for memory in self.get("/v1/memories")["data"]]
        self.assertEqual(len(here), int(reply.headers["X-Mplus-Memories"]))
        self.assertEqual([memory["name"] for memory in copy.get("/v1/memories").json["data"]], here)
        self.assertEqual(copy.get("/v1/memories/saved/turns").body, self.server.get("/v1/memories/saved/turns").body)
        self.assertTrue(copy.post("/v1/memories/saved/verify").json["sound"])
        self.assertEqual(copy.post("/v1/memories/saved/ask", {"question": "Who?", "max_tokens": 8}).json["answer"],
                         self.post("/v1/memories/saved/ask", {"question": "Who?", "max_tokens": 8})["answer"])
        self.assertEqual(copy.terminate(), 0)

    def test_a_download_that_is_dropped_leaves_nothing(self):
        self.new("dropped", story(300, 15))
        before = self.server.descriptors()
        for path in ("/v1/memories/dropped/export", "/v1/backup"):
            connection, response = self.server.begin("GET", path)
            self.assertEqual(response.status, 200)
            response.read(100)
            response.close()  # it holds the socket, too
            connection.close()
        wait_for(lambda: self.server.descriptors() <= before, "files to be closed")
        wait_for(lambda: not list(self.server.temporary.iterdir()), "files on their way to go")

    def test_a_request_id_is_no_path(self):
        """It names a file on its way; it must not name one elsewhere."""
        self.new("path", "A text.\n")
        place = self.folder / "elsewhere"
        reply = self.server.get("/v1/memories/path/export", headers={"x-request-id": f"x/../../{place}/deep"})
        self.assertEqual(reply.status, 200, reply.body[:300])
        self.assertFalse(place.exists())


if __name__ == "__main__":
    main()
