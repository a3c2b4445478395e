/** A mouse event of SGR mode. Cells count from 0. */
export interface Mouse {
  type: 'press' | 'release' | 'drag' | 'wheelUp' | 'wheelDown'
  button: 'left' | 'middle' | 'right'
  x: number
  y: number
  ctrl: boolean
}

/** Enables buttons (1000), motion with a pressed button (1002), and decimal positions (1006), which can exceed 223 cells. */
export const mouseOn = '\u001b[?1000h\u001b[?1002h\u001b[?1006h'
export const mouseOff = '\u001b[?1006l\u001b[?1002l\u001b[?1000l'

const buttons = ['left', 'middle', 'right'] as const

/** Parses `<0;10;5` and its final letter: M for a press, m for a release. Undefined for other events. */
export function mouseOf(parameters: string, final: string): Mouse | undefined {
  const match = /^<(\d{1,4});(\d{1,5});(\d{1,5})$/.exec(parameters)
  if (!match || (final !== 'M' && final !== 'm')) return undefined
  const code = Number(match[1])
  const at = { x: Math.max(0, Number(match[2]) - 1), y: Math.max(0, Number(match[3]) - 1), ctrl: (code & 16) !== 0 }
  const button = buttons[code & 3]
  if (code & 64) {
    if (final === 'm' || (code & 3) > 1) return undefined
    return { type: code & 1 ? 'wheelDown' : 'wheelUp', button: 'middle', ...at }
  }
  if (!button) return undefined
  return { type: code & 32 ? 'drag' : final === 'm' ? 'release' : 'press', button, ...at }
}
