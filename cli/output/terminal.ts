import type { ColorUse } from '../parsing/globals.ts'
import { isTerminal } from './streams.ts'

/** The terminal's properties: whether stdout is a terminal, its width, and whether it supports color. */
export interface Terminal {
  stdout: boolean
  stderr: boolean
  stdin: boolean
  width: number
  height: number
  color: boolean
  stderrColor: boolean
}

/**
 * Determines the properties from the streams and the environment: BOARD_FORCE_TTY, NO_COLOR, FORCE_COLOR, TERM=dumb, COLUMNS.
 * @param color `auto`: depends on the environment and the streams
 */
export function lookAtTerminal(color: ColorUse): Terminal {
  const { env } = process
  const isColored = (terminal: boolean) => color === 'always' || (color === 'auto' && supportsColor(terminal, env))
  const forced = isOn(env.BOARD_FORCE_TTY)
  const stdout = forced || isTerminal(1)
  const stderr = forced || isTerminal(2)
  const { columns, rows } = isTerminal(1) ? process.stdout : {}
  const width =
    Number(env.COLUMNS) ||
    (/^\d{2,}$/.test(env.BOARD_FORCE_TTY ?? '') ? Number(env.BOARD_FORCE_TTY) : 0) ||
    columns ||
    80
  return {
    stdout,
    stderr,
    stdin: isTerminal(0),
    width,
    height: rows || 24,
    color: isColored(stdout),
    stderrColor: isColored(stderr),
  }
}

function supportsColor(terminal: boolean, env: NodeJS.ProcessEnv): boolean {
  if (env.FORCE_COLOR !== undefined) return isOn(env.FORCE_COLOR)
  if (env.NO_COLOR) return false
  return terminal && env.TERM !== 'dumb'
}

const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== '' && value !== '0' && value !== 'false'

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const
export type Color = keyof typeof codes

/** Colors a text if `wanted` is true. */
export const paint = (text: string, color: Color | undefined, wanted: boolean): string =>
  wanted && color && text !== '' ? `\u001b[${codes[color]}m${text}\u001b[0m` : text
