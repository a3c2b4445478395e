import type { CardStatus } from '../../src/contract/fields.ts'
import type { LineKind } from '../ui/state/textLine.ts'

/** The styles of the screens as SGR parameters. Empty for plain text. */
export interface Palette {
  accent: string
  strong: string
  dim: string
  title: string
  label: string
  error: string
  good: string
  warn: string
  busy: string
  unread: string
  /** The frames of the focused column and of the other columns. */
  focus: string
  frame: string
  /** The background of the card under the cursor. */
  cursor: string
  selected: string
  bar: string
  key: string
  added: string
  removed: string
  hunk: string
  thought: string
  code: string
}
interface Glyphs {
  corner: readonly [string, string, string, string]
  across: string
  down: string
  cursor: string
  selected: string
  unread: string
  thumb: string
  live: string
  broken: string
  dot: string
  more: string
  up: string
  below: string
  left: string
  right: string
  ellipsis: string
  status: Record<CardStatus, string>
  busy: readonly string[]
}

/** Everything that decides how the screens look. */
export interface Theme {
  palette: Palette
  glyphs: Glyphs
}

const plain: Palette = {
  accent: '',
  strong: '1',
  dim: '',
  title: '',
  label: '',
  error: '1',
  good: '',
  warn: '1',
  busy: '1',
  unread: '1',
  focus: '1',
  frame: '',
  cursor: '7',
  selected: '4',
  bar: '7',
  key: '1',
  added: '',
  removed: '',
  hunk: '1',
  thought: '',
  code: '',
}
/** The terminal's own colors, which fit any background. */
const system: Palette = {
  accent: '36',
  strong: '1',
  dim: '2',
  title: '',
  label: '35',
  error: '31',
  good: '32',
  warn: '33',
  busy: '36',
  unread: '1;33',
  focus: '1;36',
  frame: '2',
  cursor: '7',
  selected: '1;33',
  bar: '7',
  key: '1;36',
  added: '32',
  removed: '31',
  hunk: '36',
  thought: '2;3',
  code: '36',
}
const dark: Palette = {
  ...system,
  accent: '38;5;80',
  dim: '38;5;245',
  title: '38;5;254',
  label: '38;5;176',
  error: '38;5;203',
  good: '38;5;114',
  warn: '38;5;221',
  busy: '38;5;80',
  unread: '1;38;5;221',
  focus: '1;38;5;80',
  frame: '38;5;240',
  cursor: '48;5;238;38;5;254',
  selected: '38;5;221',
  bar: '48;5;236;38;5;252',
  key: '1;38;5;80',
  added: '38;5;114',
  removed: '38;5;203',
  hunk: '38;5;80',
  thought: '3;38;5;245',
  code: '38;5;152',
}
const light: Palette = {
  ...system,
  accent: '38;5;25',
  dim: '38;5;243',
  title: '38;5;235',
  label: '38;5;90',
  error: '38;5;160',
  good: '38;5;28',
  warn: '38;5;130',
  busy: '38;5;25',
  unread: '1;38;5;130',
  focus: '1;38;5;25',
  frame: '38;5;250',
  cursor: '48;5;189;38;5;235',
  selected: '38;5;130',
  bar: '48;5;254;38;5;236',
  key: '1;38;5;25',
  added: '38;5;28',
  removed: '38;5;160',
  hunk: '38;5;25',
  thought: '3;38;5;243',
  code: '38;5;24',
}
/** No dim text, and important text in bold. */
const highContrast = (palette: Palette): Palette => ({
  ...palette,
  dim: '',
  title: '1',
  frame: '',
  thought: '3',
  cursor: '7;1',
  bar: '7;1',
  label: '1;35',
  error: '1;31',
  good: '1;32',
  warn: '1;33',
  busy: '1;36',
  selected: '1;4;33',
  added: '1;32',
  removed: '1;31',
})

const boxes: Glyphs = {
  corner: ['╭', '╮', '╰', '╯'],
  across: '─',
  down: '│',
  cursor: '▌',
  selected: '◼',
  unread: '●',
  thumb: '┃',
  live: '●',
  broken: '○',
  dot: '·',
  more: '…',
  up: '▲',
  below: '▼',
  left: '‹',
  right: '›',
  ellipsis: '…',
  status: {
    idle: '',
    queued: '◌',
    running: '◐',
    waiting: '◆',
    completed: '✓',
    failed: '✗',
    cancelled: '⊘',
    interrupted: '!',
  },
  busy: ['◐', '◓', '◑', '◒'],
}
const ascii: Glyphs = {
  corner: ['+', '+', '+', '+'],
  across: '-',
  down: '|',
  cursor: '>',
  selected: '#',
  unread: '*',
  thumb: '#',
  live: '*',
  broken: 'o',
  dot: '-',
  more: '...',
  up: '^',
  below: 'v',
  left: '<',
  right: '>',
  ellipsis: '~',
  status: {
    idle: '',
    queued: 'o',
    running: '|',
    waiting: '?',
    completed: '+',
    failed: 'x',
    cancelled: '-',
    interrupted: '!',
  },
  busy: ['|', '/', '-', '\\'],
}

/** Returns the theme for the person's settings and the terminal. */
export function themeOf({
  theme,
  highContrast: isHigh,
  color,
  isAscii,
}: {
  theme: 'system' | 'light' | 'dark'
  highContrast: boolean
  color: boolean
  isAscii: boolean
}): Theme {
  const chosen = color ? { system, light, dark }[theme] : plain
  return {
    palette: isHigh ? (color ? highContrast(theme === 'system' ? system : chosen) : plain) : chosen,
    glyphs: isAscii ? ascii : boxes,
  }
}

/** How a card's status is colored. */
export const statusStyle = ({ accent, busy, dim, error, good, warn }: Palette, status: CardStatus): string =>
  ({
    idle: dim,
    queued: accent,
    running: busy,
    waiting: warn,
    completed: good,
    failed: error,
    cancelled: dim,
    interrupted: error,
  })[status]

export const lineStyle = (palette: Palette, kind: LineKind): string =>
  ({
    text: '',
    head: palette.strong,
    dim: palette.dim,
    code: palette.code,
    user: palette.good,
    agent: palette.accent,
    thought: palette.thought,
    system: palette.warn,
    plan: palette.label,
    toolGoing: palette.busy,
    toolDone: palette.dim,
    toolFailed: palette.error,
    file: palette.strong,
    hunk: palette.hunk,
    added: palette.added,
    removed: palette.removed,
    failed: palette.error,
  })[kind]
