/** What it prints to stdout and stderr comes in the order in which it was printed, as on a terminal, and the shell's own messages too. */
const inOneStream = 'exec sh -c -- "$1" 2>&1'

/** A shell's command as a program and its arguments. All that it prints comes by stdout. */
export const shellCommand = (command: string): string[] => ['sh', '-c', inOneStream, 'sh', command]
