"""The default model, killed while it reads: in the end its memory is bit for bit the one of an undisturbed run."""
import random
import subprocess
import time

from program import PROGRAM, ROOT, ProgramTest, default_model, main, read_safetensors

KILLS = 8
STORY = (ROOT / "examples" / "story" / "winter_light.txt").read_text()[:8000]  # seven or eight writes


class Killed(ProgramTest):
    def exported(self, name):
        self.run_program("session", "export", name, "exported.safetensors", "--no-journal", "--force")
        tensors, metadata = read_safetensors(self.folder / "exported.safetensors")
        for own in ("session", "checksum.metadata"):
            metadata.pop(own)
        return tensors, metadata

    def test_killed_while_reading(self):
        models = self.folder / "home" / "models"  # a store of our own, with the real model
        models.mkdir(parents=True)
        (models / default_model().name).symlink_to(default_model())
        text = self.file("story.txt", STORY)
        start = time.monotonic()
        self.run_program("remember", text, "--session", "whole")
        seconds = time.monotonic() - start
        chance = random.Random(3)
        for kill in range(KILLS):
            process = subprocess.Popen([PROGRAM, "remember", str(text), "--session", "killed"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, cwd=self.folder, env=self.environment)
            time.sleep(seconds * chance.uniform(0.02, 0.25))
            process.kill()
            process.wait()
        self.run_program("remember", text, "--session", "killed")
        self.run_program("session", "verify", "killed", "--replay")
        self.assertEqual(self.exported("killed"), self.exported("whole"))


if __name__ == "__main__":
    main(needs_model=True)
