/**
 * Merging stderr into stdout keeps the order in which both were printed. The outer shell's redirection also catches the inner one's own
 * messages.
 */
const mergeStreams = 'exec sh -c -- "$1" 2>&1'

/** The argv that runs a shell command with all of its output on stdout. */
export const shellCommand = (command: string): string[] => ['sh', '-c', mergeStreams, 'sh', command]
