"""/openapi.json: a client that knows nothing else asks for everything it describes, with what is allowed and what is not
(schemathesis), and checks each reply against it."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from server import ServerTest, main

# Where a schema cannot say what makes sense (ids of a vocabulary, the last message is the user's, words of JSON Schema that
# are understood), a request it allows may be refused.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance," \
         "response_schema_conformance,negative_data_rejection,unsupported_method,use_after_free"
HOOKS = '''
import schemathesis

@schemathesis.hook
def before_call(context, case, kwargs):
    """Answers are short, or this would take long."""
    if isinstance(case.body, dict) and case.path.startswith(("/v1/chat", "/v1/completions", "/v1/responses", "/v1/memories/{name}/ask")):
        for field in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
            if isinstance(case.body.get(field), int) and not isinstance(case.body[field], bool) and 8 < case.body[field] <= 4096:
                case.body[field] = 8
        for field in ("n",):
            if case.body.get(field) in range(4, 17):
                case.body[field] = 2
'''


class Description(ServerTest):
    def test_every_operation_by_its_example(self):
        document = self.get("/openapi.json")
        self.assertEqual(document["openapi"], "3.1.0")
        names = set()
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self.assertTrue(operation["summary"])
                names.add(operation["operationId"])
                self.assertIn("default", operation["responses"])
                where = path.replace("{name}", "nobody").replace("{id}", "7").replace("{file}", "app.js")
                content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                reply = self.server.request(method.upper(), where, content.get("example"))
                self.assertIn(reply.status, (200, 201, 400, 404, 409), (path, method, reply.body[:300]))
                if reply.status in (400, 404):
                    self.assertTrue("nobody" in where or "7" in where or "import" in where, (path, reply.body[:300]))
        self.assertEqual(len(names), sum(len(methods) for methods in document["paths"].values()))
        self.assertEqual(document["paths"]["/health"]["get"]["security"], [])

    def test_a_client_that_knows_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            hooks = Path(folder) / "hooks.py"
            hooks.write_text(HOOKS)
            done = subprocess.run(
                [str(Path(sys.executable).parent / "st"), "run", f"{self.server.url}/openapi.json", "--checks", CHECKS,
                 "--phases", "examples,coverage,fuzzing", "--max-examples", os.environ.get("MPLUS_EXAMPLES", "6"),
                 "--generation-deterministic", "--request-timeout", "60", "--continue-on-failure",
                 "--suppress-health-check", "all", "--warnings", "off", "--no-color"],
                cwd=folder, env=os.environ | {"SCHEMATHESIS_HOOKS": str(hooks)}, capture_output=True, text=True, timeout=540)
        self.assertEqual(done.returncode, 0, done.stdout[-20000:] + done.stderr[-2000:])
        self.assertNotIn("unexpected", self.server.log_text())


if __name__ == "__main__":
    main()
