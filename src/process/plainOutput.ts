/** Sequences that select colors and styles of a terminal, move its cursor or erase. */
const styles = /\u001b(?:\[[\d;:?]*[A-HJKSTfhlmnsu]|\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\))/g

/** The output of a program without styles of a terminal, and with plain line ends. */
export const withoutStyles = (text: string): string => text.replace(styles, '').replaceAll('\r\n', '\n')
