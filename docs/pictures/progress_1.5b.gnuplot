# gnuplot progress_1.5b.gnuplot: draws progress_1.5b.svg beside it. Numbers: "By training time" in docs/log/2026-11-qwen-training.md.
set terminal svg size 760,340 font "sans-serif,12"
set output "progress_1.5b.svg"
set yrange [0.3:1]
set xrange [25:85]
set xlabel "minutes of training on one H200"
set ylabel "share of questions"
set grid ytics
set key outside right
# minutes, at once: facts, SQuAD, NaturalQuestions; after 160k tokens: the same
set datafile missing "-"
$shown << END
30 .93  .59  -    .77  .52  -
50 .95  .60  -    .85  .57  -
59 .956 .627 .433 .869 .619 .397
78 .960 .627 .440 .897 .603 .405
END
plot $shown using 1:2 with linespoints lc "#2166ac" pt 7 lw 1.5 title "facts, at once", \
  $shown using 1:5 with linespoints lc "#2166ac" dt 2 pt 6 lw 1.5 title "facts, after 160k", \
  $shown using 1:3 with linespoints lc "#1b7837" pt 7 lw 1.5 title "SQuAD, at once", \
  $shown using 1:6 with linespoints lc "#1b7837" dt 2 pt 6 lw 1.5 title "SQuAD, after 160k", \
  $shown using 1:4 with linespoints lc "#b2182b" pt 7 lw 1.5 title "NaturalQuestions, at once", \
  $shown using 1:7 with linespoints lc "#b2182b" dt 2 pt 6 lw 1.5 title "NaturalQuestions, after 160k"
