"""The default model forgets one of several short notes: the others are answered as before, and what was forgotten is not."""
from program import ProgramTest, default_model, main

NOTES = {
    "anna": "Anna Kessler plays the cello in the Marlow quartet. She practises every Tuesday evening in the old brewery.",
    "bruno": "Bruno Okafor keeps bees behind the chapel. His honey won the silver ribbon at the Dunmere fair.",
    "clara": "Clara Whitlock repairs clocks in Sable Street. Her shop is closed on Thursdays, when she teaches at the school.",
    "dmitri": "Dmitri Vale is the captain of the ferry Heron. He sails to Port Ansel at seven in the morning.",
    "elena": "Elena Moss bakes rye bread with caraway. She learned the recipe from her aunt in Tarnow.",
    "felix": "Felix Grant is allergic to walnuts. He carries his medicine in a green tin.",
    "paul": "Paul Brenner works as a gardener in Linford. He drives a yellow van.",
    "rosa": "Rosa Lind sells tickets at the cinema in Mill Lane. She likes old westerns.",
    "sam": "Sam Porter collects stamps from Iceland. His brother Leo is a dentist.",
    "paul again": "Paul Brenner works as a plumber in Linford. He drives a yellow van.",
}
QUESTIONS = {
    "anna": ("What does Anna Kessler play?", "cello"),
    "bruno": ("What does Bruno Okafor keep?", "bees"),
    "clara": ("Where does Clara Whitlock repair clocks?", "Sable Street"),
    "dmitri": ("What is the name of the ferry of Dmitri Vale?", "Heron"),
    "elena": ("What does Elena Moss bake?", "rye bread"),
    "felix": ("What is Felix Grant allergic to?", "walnuts"),
    "paul": ("What does Paul Brenner work as?", "plumber"),
    "rosa": ("Where does Rosa Lind sell tickets?", "Mill Lane"),
    "sam": ("What does Sam Porter collect?", "stamps"),
}


class Notes(ProgramTest):
    def setUp(self):
        super().setUp()
        models = self.folder / "home" / "models"  # a store of our own, with the real model
        models.mkdir(parents=True)
        (models / default_model().name).symlink_to(default_model())

    def tell(self, *names):
        """Notes that one flush writes into one chunk."""
        paths = [self.file(f"{name}.txt", NOTES[name] + "\n").name for name in names]
        self.run_program("remember", *paths, "--flush")

    def forget(self, name):
        return self.report("session", "forget", "default", f"{name}.txt")["forgotten"][0]

    def answers(self, *names):
        return {name: self.report("ask", QUESTIONS[name][0])["answer"].strip() for name in names}

    def assert_known(self, answers):
        for name, answer in answers.items():
            self.assertIn(QUESTIONS[name][1], answer, name)

    def test_the_others_are_answered_as_before(self):
        names = ("anna", "bruno", "clara", "dmitri", "elena", "felix")
        self.tell(*names)
        before = self.answers(*names)
        self.assert_known(before)
        report = self.forget("clara")
        self.assertEqual(report["written_again"]["updates"], 1)
        after = self.answers(*names)
        self.assertEqual(after.pop("clara"), "I do not know.")
        del before["clara"]
        self.assertEqual(after, before)

    def test_a_correction_still_wins(self):
        self.tell("paul", "rosa", "sam")
        self.tell("anna", "bruno", "dmitri", "elena", "felix")
        self.tell("paul again")
        self.assert_known(self.answers("paul", "rosa"))
        self.forget("rosa")
        after = self.answers("paul", "rosa", "sam", "elena")
        self.assertEqual(after.pop("rosa"), "I do not know.")
        self.assert_known(after)

    def test_what_was_carried_into_the_next_write_is_gone(self):
        """A write of fewer than K tokens holds the rows of the one before once more."""
        for name in ("clara", "bruno", "felix"):
            self.tell(name)
        self.assert_known(self.answers("clara"))
        self.assertEqual(self.forget("clara")["written_again"]["updates"], 2)
        after = self.answers("clara", "bruno", "felix")
        self.assertEqual(after.pop("clara"), "I do not know.")
        self.assert_known(after)


if __name__ == "__main__":
    main(needs_model=True)
