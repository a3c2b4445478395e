/** What ink draws: a program of its own, which only commands that draw load (cli/programs.ts). */
export { showBoard } from './main.ts'
export { watchList } from './watch.ts'
