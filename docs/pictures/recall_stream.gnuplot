# gnuplot recall_stream.gnuplot: draws recall_stream.svg beside it. Numbers: the table of docs/recall.md.
set terminal svg size 760,300 font "sans-serif,12"
set output "recall_stream.svg"
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.9 border -1
set boxwidth 0.9
set yrange [0:1.05]
set ylabel "right chunk among the best two"
set grid ytics
set key outside right
$found << END
set consensus words hybrid
"made-up facts" 0.87 0.91 0.95
"SQuAD" 0.94 0.95 0.97
"NaturalQuestions" 0.82 0.84 0.89
"book passages" 1.00 1.00 1.00
END
plot for [i=2:4] $found using i:xtic(1) title columnheader(i)
