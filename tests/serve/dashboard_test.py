"""The dashboard of examples/deploy shows what the server tells: every metric it asks for is there, and of the right kind."""
import json
import re

from server import ROOT, ServerTest, main

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


if __name__ == "__main__":
    main()
