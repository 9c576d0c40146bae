"""What the server tells of itself, and that the dashboard of examples/deploy shows it: every metric it asks for is there, and of the right kind."""
import json
import re

from server import ROOT, ServerTest, main, story

DASHBOARD = ROOT / "examples" / "deploy" / "grafana.json"


def told(text):
    """Metrics by name: type, and names of the samples they have."""
    metrics, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            metrics[name] = kind
        elif line and not line.startswith("#"):
            samples.setdefault(re.match(r"[a-zA-Z_:][\w:]*", line).group(), []).append(line)
    return metrics, samples


class Numbers(ServerTest):
    def value(self, name):
        _, samples = told(self.server.get("/metrics").body.decode())
        return float(samples[name][0].rsplit(" ", 1)[1])

    def test_commits_are_counted(self):
        before = self.value("mplus:commit_seconds_count")
        self.say("commits", "Hi")
        self.assertGreater(self.value("mplus:commit_seconds_count"), before)
        self.assertGreater(self.value("mplus:commit_seconds_sum"), 0)
        after = self.value("mplus:commit_seconds_count")
        self.get("/v1/memories/commits/turns")
        self.assertEqual(self.value("mplus:commit_seconds_count"), after, "looking commits nothing")

    def test_recalls_are_counted(self):
        """One for each question to a memory that has something to recall, none for others."""
        self.post("/v1/memories/recalls/documents", {"name": "a", "text": story(3000, 1)}, expect=201)
        before = self.value("mplus:recall_seconds_count")
        self.post("/v1/memories/recalls/ask", {"question": "Who?", "max_tokens": 2})
        self.assertEqual(self.value("mplus:recall_seconds_count"), before + 1)
        self.post("/v1/chat/completions", {"max_tokens": 2, "messages": [{"role": "user", "content": "Who?"}]})
        self.assertEqual(self.value("mplus:recall_seconds_count"), before + 1)

    def test_bytes(self):
        """Rows that a memory holds, and what the store's files come to."""
        rows = self.value("mplus:rows_bytes")
        self.post("/v1/memories/bytes/documents", {"name": "a", "text": story(3000, 2)}, expect=201)
        self.assertGreater(self.value("mplus:rows_bytes"), rows)
        self.post("/v1/memories/bytes/fork", {"name": "bytes-fork"}, expect=201)  # saves, and shares its files
        home = self.server.home
        files = [file for folder in ("states", "segments") for file in home.rglob(f"{folder}/*")] + list(home.rglob("sessions.db*"))
        size = sum(file.stat().st_size for file in files if not file.name.endswith("-shm"))
        self.assertEqual(self.value("mplus:store_bytes"), size)


class Dashboard(ServerTest):
    def test_every_panel_asks_for_what_is_there(self):
        self.post("/v1/chat/completions", {"memory": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "Hi"}]})
        metrics, samples = told(self.server.get("/metrics").body.decode())
        panels = json.loads(DASHBOARD.read_text())["panels"]
        self.assertGreaterEqual(len(panels), 8)
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels]
        self.assertEqual(len(set(places)), len(places), "panels lie on each other")
        for panel in panels:
            for target in panel["targets"]:
                with self.subTest(panel["title"], expr=target["expr"]):
                    names = re.findall(r'__name__="([^"]+)"', target["expr"])
                    self.assertEqual(len(names), 1)
                    self.assertIn(names[0], samples)
                    metric = names[0].removesuffix("_bucket")
                    kind = "histogram" if names[0].endswith("_bucket") else "counter" if "rate(" in target["expr"] else "gauge"
                    self.assertEqual(metrics.get(metric), kind)
                    for label in re.findall(r"sum by \((\w+)\)", target["expr"]):
                        self.assertIn(f'{label}="', samples[names[0]][0])

    def test_every_metric_is_described(self):
        metrics, _ = told(self.server.get("/metrics").body.decode())
        text = (ROOT / "docs" / "server.md").read_text()
        described = set(re.findall(r"`(?:mplus:)?(\w+)`", text))
        self.assertEqual([name for name in metrics if name.removeprefix("mplus:") not in described], [])


if __name__ == "__main__":
    main()
