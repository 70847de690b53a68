# Throughput and fairness against the length of the section, a plot for each number of threads, from
# what bench/compare/bcs.py --plot-data writes:
#   gnuplot -e "data='bcs.dat'; into='DIRECTORY'" bcs.gp
# writes bcs-throughput.svg and bcs-fairness.svg.
set datafile separator whitespace
stats data using 1 nooutput
blocks = STATS_blocks
threads_of = ''
do for [i = 0:blocks - 1] { # before there are ranges: stats would apply them
  stats data using 1 index i nooutput
  threads_of = threads_of . sprintf(' %.0f', STATS_min)
}
candidates = (STATS_columns - 2) / 2
set terminal svg size 840,420 * blocks noenhanced font 'sans,12' background 'white'

set key outside right top
set grid ytics linetype 1 linecolor rgb '#dddddd'
set xlabel 'length of the section'
set offsets 0.2, 0.2, 0, 0
set style data linespoints
set linetype 9 linecolor rgb '#888888' # else that of 1 again
width(c) = c <= 2 ? 4 : 2 # the two forms of the lock come first
what(i) = ', ' . word(threads_of, i + 1) . ' threads, 1 us outside of the section'

set output into . '/bcs-throughput.svg'
set ylabel 'sections per second'
set logscale y
set format y '%.0s%c'
set multiplot layout blocks, 1
do for [i = 0:blocks - 1] {
  set title 'Throughput' . what(i)
  plot for [c = 1:candidates] data index i using (column(c + 2)):xtic(2) title columnheader(c + 2) \
    linetype c linewidth width(c) pointtype c
}
unset multiplot

set output into . '/bcs-fairness.svg'
set ylabel 'slowest thread / fastest thread'
unset logscale y
set format y '%.1f'
set yrange [0:1.02]
set multiplot layout blocks, 1
do for [i = 0:blocks - 1] {
  set title 'Fairness' . what(i)
  plot for [c = 1:candidates] data index i using (column(c + 2 + candidates)):xtic(2) \
    title columnheader(c + 2 + candidates) linetype c linewidth width(c) pointtype c
}
unset multiplot
