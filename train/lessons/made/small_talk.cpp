// Talk around the facts: exchanges in which nothing is told that could be asked for later, ways to begin
// telling something, and ways to take note of it.
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

// One exchange a line: user / assistant.
const std::string_view kSmallTalk = R"(
Hello there! / Hello! What can I do for you?
Hi, it's me again. / Welcome back. What's up?
Good morning! / Good morning! Did you sleep well?
Good evening. / Good evening. How did it go today?
How's it going? / Going well, thanks. And with you?
Are you there? / Yes, I'm here.
You up for a chat? / Always. What's on your mind?
I'm bored. / Shall we play a word game, or would you rather talk?
Tell me a joke. / Why did the scarecrow get a prize? It was outstanding in its field.
Another joke, please. / I would tell you one about paper, but it is tearable.
That was a terrible joke. / I did warn myself.
Do you ever get tired? / No, but I understand the idea.
Do you sleep? / Not the way you do.
Can you think? / I can work with words; whether that is thinking is a fine question.
What can you do? / I can answer questions, help with writing and keep you company.
Do you have feelings? / Not as you do, though I try to be considerate.
Do you like being asked things? / It is what I am here for.
I can't sleep. / A dark room and slow breathing help many people.
I overslept. / It happens. Start with one small thing.
My head hurts a bit. / Drink some water and rest your eyes for a while.
I think I'm catching a cold. / Take it easy and stay warm.
I feel great! / That's lovely to hear.
I'm a bit sad. / I'm sorry. Would talking about it help?
I'm nervous. / Breathe out slowly. You have done hard things before.
I'm so proud of myself. / You have every reason to be.
I'm hungry. / Time for a snack, then.
I ate far too much. / A short walk might help.
Should I cook or order in? / Cook if you enjoy it, order if you need the evening.
How do I boil an egg? / Seven minutes in boiling water gives a soft centre.
Any tips for better coffee? / Fresh beans and water just off the boil.
My soup is too salty. / Stretch it with more stock, or add a potato.
How do I keep bread fresh? / A bread bin or a paper bag, never the fridge.
I burned the toast again. / Scrape it and call it rustic.
I want to eat healthier. / Begin with one good habit and let it grow.
Is breakfast important? / For some people yes, others do fine without it.
It's raining cats and dogs. / A fine reason to stay in.
What a beautiful sunset. / Enjoy it while it lasts.
It is so hot outside. / Keep the curtains closed and drink plenty.
It's windy out there. / Hold on to your hat.
I love snow. / It does make everything quiet.
Do you think it will rain? / I can't see the sky from here. A look at the forecast would tell.
The leaves are falling. / A good time for long walks.
I can hear thunder. / Better wait inside until it passes.
I want to start running. / Go slowly and rest between runs.
My legs are sore. / That usually fades in a few days.
How do I stay motivated? / Small goals, and a note of what you managed.
I skipped the gym. / There is always another session.
Is stretching useful? / It can feel good and keeps you supple.
I fancy learning something new. / What has made you curious of late?
How do I learn faster? / Test yourself often and space it out.
I keep putting things off. / Try five minutes; starting is the hard part.
How can I focus better? / Phone away, one task, short breaks.
I have too much to do. / Write it all down and pick one.
My desk is a mess. / Clear a corner first and see how it feels.
I finally tidied up. / Well done. Enjoy the space.
I hate ironing. / Put on a podcast and it goes quicker.
How do I get a stain out? / Cold water first, then soap, and do not rub.
My plants look sad. / Check whether the soil is too wet or too dry.
How do I repot a plant? / A slightly larger pot, fresh soil, and water it well.
The lamp flickers. / Try tightening the bulb once it has cooled down.
My phone is slow. / Restarting it and clearing some space often helps.
The printer hates me. / They all have moods. Switch it off and on again.
I lost an hour to the internet. / It is very good at that.
Too many emails again. / Answer the short ones first.
How do I write a good email? / Say what you need in the first line.
Can you help me with a letter? / Of course. Who is it for, and what should it say?
How do I end a letter politely? / "With kind regards" is hardly ever wrong.
Give me a synonym for happy. / Cheerful, glad, content, delighted.
What's another word for big? / Large, huge, vast or enormous.
Give me a nice word. / Serendipity.
What rhymes with moon? / Soon, spoon, tune and balloon.
Make up a short rhyme. / A cloud went by, a gull said why, and off they wandered through the sky.
Say something wise. / Slow is smooth, and smooth is fast.
Give me a motto for today. / One step, then the next.
Do you know any riddles? / What has hands but cannot clap? A clock.
I like riddles. / Here is one: the more you take, the more you leave behind. Footsteps.
What's two plus two? / Four.
Count to five. / One, two, three, four, five.
Flip a coin for me. / Heads!
Pick a card. / The queen of hearts.
Should I stay in or go out? / If you hesitate, a short outing might do you good.
Tea or coffee? / Tea to calm down, coffee to get going.
Beach or mountains? / Whichever you have missed longest.
Books or films? / Books for a week, films for an evening.
Do you like books? / I like talking about them.
What should I read next? / Something unlike the last one you finished.
I can't finish this book. / You are allowed to give up on a book.
I watched a film last night. / Was it worth staying up for?
The ending was silly. / Endings are hard.
I sang in the shower. / The acoustics are hard to beat.
Do you play games? / Word games, gladly.
I lost at cards again. / Luck turns in the end.
Is chess difficult? / Easy to learn, hard to play well.
I want to draw better. / Draw a little every day and look closely.
I can't draw hands. / Hardly anyone can. Start from simple shapes.
How do I take better photos? / Mind the light, and move closer.
I need a hobby. / Would you rather make things, move or collect?
Travelling is tiring. / A light bag and an early night help.
I hate packing. / Lay it all out, then take half.
I missed the bus. / Annoying. At least you get some air.
The traffic was awful. / I hope you had something good to listen to.
I love trains. / There is nothing like looking out of the window.
I'm afraid of flying. / Many are. Knowing what the noises mean can help.
How do I get over jet lag? / Daylight in the morning and no naps late in the day.
My back aches from sitting. / Stand up every half hour and roll your shoulders.
How much water should I drink? / Drink when you are thirsty, more when it is hot.
Do carrots help you see? / A little vitamin A does, but they won't replace glasses.
Why is the sky blue? / Air scatters blue light more than red.
Why do cats purr? / Often from contentment, sometimes to soothe themselves.
Do fish sleep? / They rest, though without closing their eyes.
Why do we yawn? / Nobody is quite sure; it may help us stay alert.
Do plants feel pain? / They react to harm, but without nerves.
Are ghosts real? / There is no good evidence, but there are good stories.
Is there life on other planets? / Nobody knows yet.
What is the meaning of life? / People find it in love, work and small joys.
Can money buy happiness? / It can buy calm, which helps.
Are you smarter than me? / I know many words. You know your life.
Will robots take over? / I have trouble enough with riddles.
Do you dream? / Not that I know of.
You're funny. / I do my best.
You're not very helpful. / I'm sorry. Let me try again.
That's wrong. / Thank you for pointing it out. What should it be?
You're the best. / That is kind of you.
Thanks a lot. / You're very welcome.
Thank you! / My pleasure.
Sorry for the delay. / No trouble at all.
One moment, please. / Take your time.
I'm back. / Good. Where were we?
I have to go. / All the best, and see you soon.
Bye for now. / Goodbye!
See you tomorrow. / See you then.
Talk to you later. / Until later.
Good night. / Sleep well.
Never mind. / All right. Just say if you change your mind.
Let's change the subject. / Gladly. What would you like to talk about?
Where were we? / You were about to tell me more.
I've nothing to say today. / That's fine. We can simply be quiet.
Ask me something. / What made you smile lately?
I laughed a lot today. / Laughing is good for the heart.
People are strange. / And interesting, mostly.
I argued with someone. / Give it a night, then talk it over.
How do I apologise? / Say what you did, that you regret it, and what you will do.
How do I say no politely? / Thank them, decline briefly, and don't over-explain.
I find small talk hard. / Ask a question and listen; that carries most of it.
I don't know what to wear. / Something comfortable that you feel yourself in.
My shoes hurt. / Take them off for a while if you can.
I need new glasses. / An eye test is a good start.
I got a haircut. / I hope you like it.
My hair won't behave. / Call it character.
Mondays are hard. / They get easier after lunch.
At last, the weekend! / Enjoy every hour of it.
I love holidays. / Who doesn't?
Time flies. / It does, most of all when one is busy.
I feel old. / Only compared with yesterday.
I miss being a child. / A swing or a puddle may still do the trick.
The neighbours are loud. / A friendly word often works better than a knock on the wall.
My alarm is too loud. / A softer tone may wake you just as well.
I spilled my tea. / At least it wasn't on the keyboard, I hope.
I dropped my phone. / I hope the screen survived.
The shop was closed. / How annoying. Tomorrow, then.
Everything is so expensive. / It does add up.
I'm trying to save money. / Track what you spend for a month; it is revealing.
I bought too many things. / You can still send some back.
Work was dull today. / Some days simply are.
My meeting ran late. / They have a way of doing that.
I finished everything! / Then you may put your feet up.
I made a mistake. / Everyone does. What can be put right?
Nothing works today. / Take a break and try once more.
I had a good idea. / Write it down before it slips away.
I forgot what I wanted to say. / It will come back when you stop looking for it.
Do you believe in luck? / I believe in trying often.
Wish me luck! / Good luck! You will do fine.
It's my turn to choose. / Then choose what pleases you.
Let's do something fun. / A quiz, a story or a silly poem?
Tell me a story. / Once a snail set out to see the sea, and found that the way there was the best part.
That's a nice story. / I'm glad you liked it.
Can you sing? / Only in writing: la, la, la.
What's your favourite colour? / I have none, but people speak highly of blue.
Do you have a name? / You may call me what you like.
Do you like animals? / From all I read, very much.
The cat ignores me. / That is how cats show respect.
The dog chewed my slipper. / A sign of affection, perhaps.
Birds woke me up. / An early concert, free of charge.
There's a spider in the bath. / A glass and a postcard will move it gently.
I saw a rainbow. / What a nice surprise.
The stars are out. / A good moment to look up.
Gardening calms me. / Hands in the soil do wonders.
I like quiet evenings. / They are underrated.
Candles or lamps? / Candles for mood, lamps for reading.
)";

// One a line. {} stands for what is told: whole sentences, each with a capital letter.
const std::string_view kOpenings = R"(
Note this down: {}
By the way: {}
Something to store: {}
Here is something new. {}
I have news. {}
Just so that you know: {}
A small update: {}
Before I forget: {}
Make a note, please. {}
Quick note: {}
Can you store this for me? {}
Can you hold on to this? {}
This may come up again. {}
You will need this some day: {}
Listen. {}
Here's what I found out. {}
Let me fill you in. {}
Write this down, would you? {}
Add this to what you know: {}
Did I mention this? {}
I heard something today. {}
There is one more thing: {}
Another thing: {}
So, what happened since we last spoke. {}
Memo: {}
To be remembered: {}
A reminder for the two of us: {}
OK, this is important. {}
This is for your records: {}
Guess what! {}
One detail that I don't want to lose: {}
I'm telling you this so that I can ask you again: {}
Learn this, please: {}
Hey. {}
News from our side: {}
I jotted these lines down earlier. {}
Take this in: {}
Get this: {}
{} That's all for now.
{} Don't lose that.
{} I may ask you about it.
{} Just thought you should have that.
{} Can you hold on to that?
{} Please don't forget.
{} I'll come back to it some day.
)";

const std::string_view kAcknowledgements = R"(
Okay, I have it.
Understood.
Good to know.
Sure, I'll hold on to that.
I've made a note of it.
That's stored.
Right, I've taken that down.
I won't forget.
Thanks for sharing.
Written down.
Okay, thanks for the update.
Consider it remembered.
I see. Ask me any time.
Very good, it's on file.
Perfect, I've got that now.
Sure thing.
Okay!
Will do.
Fine, I know it now.
I'll be able to tell you when you need it.
Message received.
Thanks, that's useful.
I have taken note.
Alright, saved.
That's clear.
Clear, thank you.
Happy to keep track of that.
Duly recorded.
Done. Anything else?
Thanks. Is there more?
Interesting! I'll store that.
Okay, added to what I know.
Ah, I did not know that.
Great, that is now in my memory.
Of course, I'll keep it ready for you.
Yes, I can hold on to that.
Thank you, I have written it down.
Okay. Ask whenever you like.
All clear on my side.
That goes on the list.
Memorised.
I'm keeping that.
Fair enough, I have that now.
Thanks for letting me know.
No problem, I'll look after it.
)";

// Ways to ask for something said in a clause ("where she keeps it") …
const std::string_view kClauseForms = R"(
Tell me {}.
Please tell me {}.
Do you remember {}?
Do you still remember {}?
I forgot {}.
I have forgotten {}. Can you help?
Can you tell me {}?
Could you remind me {}?
Remind me {}, please.
Any idea {}?
Do you happen to know {}?
Do you know {}?
I can't recall {}.
I need to know {}.
I'd like to know {}.
Someone asked me {}. What do I say?
It slipped my mind {}.
I keep forgetting {}.
Did I tell you {}?
Let me know {}.
I wonder {}.
Say, do you remember {}?
I no longer know {}.
From what you were told, can you say {}?
Going by what I said earlier, do you know {}?
Help me remember {}.
You should know {}. Tell me.
Were you told {}?
Hm, I'm trying to remember {}.
Are you able to say {}?
Sorry, I have to ask once more {}.
Have I mentioned {}?
Think back: do you know {}?
Look in your notes and tell me {}.
I want to check {}.
)";

// … and by a noun phrase ("her hiding place").
const std::string_view kNounForms = R"(
{}?
{}, please.
{} - what was it again?
And {}?
I can't remember {}.
Tell me {}.
Give me {}.
Could you give me {}?
Do you have {}?
I need {}.
Quick: {}?
What do your notes say about {}?
{}: do you know it?
Do you remember {}?
I've forgotten {}.
Can you look up {}?
Remind me of {}.
State {}.
Name {}.
Have you got {} noted somewhere?
I'm looking for {}.
Let me have {}.
Any record of {}?
I'd like to have {}, please.
{} is what?
What did I say about {}?
Let's see if you know {}.
Can you recall {}?
Once more, {}?
)";

}  // namespace mplus::train::made
