import { hasSeveralAnswers } from '../../src/contract/agents/questionOptions.ts'
import { widthOf } from '../output/text.ts'
import { helpRows } from '../ui/state/helpRows.ts'
import { dialogBox } from '../ui/state/layout.ts'
import { hasBothSteps } from '../ui/state/mergeCards.ts'
import type { Action, Dialog as DialogState, Model, PickDialog, SendDialog } from '../ui/state/model.ts'
import { pickRows } from '../ui/state/pickItems.ts'
import { commandItems } from '../ui/state/slashCommands.ts'
import { emptyField, textIn, type TextField } from '../ui/state/textField.ts'
import { wrap } from '../ui/state/wrap.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { seenOf } from './field.ts'
import { listLines, pickContent } from './pickContent.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, fitSpans, fitText, span, widthOfSpans } from './spans.ts'

interface Content {
  title: string
  lines: readonly Line[]
  hint: string
  caret?: { x: number; y: number }
}
interface Asked {
  model: Model
  dialog: DialogState
  theme: Theme
  inside: number
}

/** Draws the open dialog in a frame over the screen. */
export function dialogPane(model: Model, dialog: DialogState, theme: Theme): Pane | undefined {
  const { width } = dialogBox(model.size, 0)
  const content = contentOf({ model, dialog, theme, inside: width - 4 })
  if (!content) return undefined
  const lines = content.lines.slice(0, Math.max(1, model.size.height - 4))
  const { left, top } = dialogBox(model.size, lines.length, dialog.kind === 'approve')
  const rows = frameDialog({ ...content, lines }, width, theme)
  const caret = content.caret && { x: content.caret.x + 2, y: content.caret.y + 1 }
  return { x: left, y: top, width, height: rows.length, lines: rows, caret }
}

function frameDialog({ title, lines, hint }: Content, width: number, { palette, glyphs }: Theme): Line[] {
  const [topLeft, topRight, bottomLeft, bottomRight] = glyphs.corner
  const style = palette.focus
  const edge = (left: string, text: string, right: string, theme: string): Line => {
    const name = text === '' ? '' : ` ${fitText(text, width - 6, glyphs.ellipsis)} `
    return {
      spans: [
        span(`${left}${glyphs.across}`, style),
        span(name, theme),
        span(`${glyphs.across.repeat(Math.max(0, width - 3 - widthOf(name)))}${right}`, style),
      ],
    }
  }
  return [
    edge(topLeft, title, topRight, palette.strong),
    ...lines.map(({ spans }): Line => ({
      spans: [
        span(`${glyphs.down} `, style),
        ...spreadSpans(spans, [], width - 4, undefined, glyphs.ellipsis).spans,
        span(` ${glyphs.down}`, style),
      ],
    })),
    edge(bottomLeft, hint, bottomRight, palette.dim),
  ]
}

function contentOf(asked: Asked): Content | undefined {
  const {
    dialog,
    theme: { palette },
    inside,
  } = asked
  switch (dialog.kind) {
    case 'help':
      return help(asked, dialog)
    case 'pick':
      return pick(asked, dialog)
    case 'add':
      return add(asked, dialog)
    case 'send':
      return send(asked, dialog)
    case 'comment':
      return comment(asked, dialog)
    case 'approve':
      return approve(asked, dialog)
    case 'confirm':
      return {
        title: 'Sure?',
        lines: wrap(dialog.question, inside).map(text => ({ spans: [span(text, palette.warn)] })),
        hint: confirmHint(dialog.action),
      }
    default:
      return undefined
  }
}

function confirmHint(action: Action | undefined): string {
  if (!action) return 'escape goes back'
  if (action.type === 'merge') return 'y yes, s yes, squashed into one commit, n no'
  return action.type === 'afterMerge' && hasBothSteps(action) ? 'y yes, d only move, n no' : 'y yes, n no'
}

function field(
  label: string,
  typed: TextField,
  inside: number,
  y: number,
): { lines: Line[]; caret: { x: number; y: number } } {
  const { text, caret } = seenOf(typed, inside - widthOf(label))
  return {
    lines: [{ spans: fitSpans([span(label), span(text)], inside, '') }],
    caret: { x: widthOf(label) + caret, y },
  }
}

function help(
  { model, theme: { palette, glyphs }, inside }: Asked,
  dialog: Extract<DialogState, { kind: 'help' }>,
): Content {
  const rows = helpRows(model, textIn(dialog.field))
  const room = Math.max(1, model.size.height - 7)
  const top = Math.min(dialog.top, Math.max(0, rows.length - room))
  const keys = Math.min(24, Math.max(4, ...rows.map(row => widthOf(row.keys))))
  const shown = rows.slice(top, top + room).map(({ keys: name, text }): Line => {
    const head: Span[] = fitSpans([span(name, palette.key)], keys, glyphs.ellipsis)
    return { spans: [...head, span(' '.repeat(keys - widthOfSpans(head) + 2)), span(text)] }
  })
  const empty: Line[] = rows.length === 0 ? [{ spans: [span('No results.', palette.dim)] }] : []
  const { lines, caret } = field('Look for: ', dialog.field, inside, 0)
  const more = rows.length > room ? `, ${top + 1}-${Math.min(rows.length, top + room)} of ${rows.length}` : ''
  return {
    title: 'Keys',
    lines: [...lines, { spans: [] }, ...shown, ...empty],
    hint: `type to search for a key, escape closes${more}`,
    caret,
  }
}

function pick({ model, theme, inside }: Asked, dialog: PickDialog): Content {
  const { title, lines, hint } = pickContent(model, dialog, theme, inside)
  const typed = field('> ', dialog.field, inside, 0)
  return { title, lines: [...typed.lines, ...lines], caret: typed.caret, hint }
}

/** The number of visible slash commands. */
const commandRows = 6

function send({ model, theme, inside }: Asked, dialog: SendDialog): Content {
  const title = `Message to the agent of card ${dialog.cardId}`
  const { lines, caret } = field('', dialog.field, inside, 0)
  const items = commandItems(dialog)
  if (items.length === 0) return { title, lines, caret, hint: 'enter sends, escape goes back' }
  const rows = Math.min(commandRows, pickRows(model.size))
  const names = Math.min(Math.floor(inside / 2), Math.max(...items.map(({ text }) => widthOf(text))))
  const told = items.map(({ text, aside = '' }) => ({
    text,
    aside: fitText(aside, Math.max(0, inside - names - 5), theme.glyphs.ellipsis),
  }))
  return {
    title,
    lines: [...lines, ...listLines(told, Math.min(dialog.at, items.length - 1), { rows, inside }, theme)],
    caret,
    hint: 'tab completes, enter sends, escape goes back',
  }
}

function comment({ inside }: Asked, { cardId, field: typed }: Extract<DialogState, { kind: 'comment' }>): Content {
  const { lines, caret } = field('', typed, inside, 0)
  const hint = 'enter sends, ctrl+e writes it in your editor, escape goes back'
  return { title: `Comment on card ${cardId}`, lines, caret, hint }
}

function add(
  { model, theme: { palette }, inside }: Asked,
  { columnId, title, prompt }: Extract<DialogState, { kind: 'add' }>,
): Content {
  const column = model.cache.columns.find(({ id }) => id === columnId)
  const first = field('Title:  ', title, inside, 0)
  const second = field('Prompt: ', prompt ?? emptyField, inside, 1)
  return {
    title: `New card in ${column?.name ?? 'the column'}`,
    lines: [...first.lines, ...(prompt ? second.lines : [{ spans: [span('Prompt: ', palette.dim)] }])],
    caret: prompt ? second.caret : first.caret,
    hint: prompt ? 'enter adds the card, ctrl+e writes the prompt in your editor' : 'enter continues, escape goes back',
  }
}

function approve(
  { model, theme: { palette, glyphs }, inside }: Asked,
  { cardId, lines: asked, options, takesText, feedback }: Extract<DialogState, { kind: 'approve' }>,
): Content {
  const title = `The agent of card ${cardId} asks`
  if (asked.length === 0) return { title, lines: [{ spans: [span('Reading the question ...')] }], hint: 'esc back' }
  const all = asked.flatMap((text, at) =>
    wrap(text, inside).map((line): Line => ({ spans: [span(line, at === 0 ? palette.strong : undefined)] })),
  )
  const answers = options
    .slice(0, 9)
    .map(({ name }, at): Line => ({ spans: [span(`${at + 1} `, palette.key), span(name)] }))
  const room = Math.max(1, model.size.height - 6 - answers.length)
  const rest = `${glyphs.ellipsis} ${all.length - room + 1} more lines: board agents view ${cardId}`
  const shown = all.length <= room ? all : [...all.slice(0, room - 1), { spans: [span(rest, palette.warn)] }]
  if (!feedback)
    return {
      title,
      lines: [...shown, ...answers],
      hint: takesText
        ? `enter answer in your own words, ${options.length > 0 ? 'or a number, ' : ''}n let the agent decide`
        : `${hasSeveralAnswers(options) ? '' : 'y approve, '}n refuse, f refuse with a message, or a number`,
    }
  const { lines, caret } = field(takesText ? 'Your answer: ' : 'Tell it: ', feedback, inside, shown.length + 1)
  return {
    title,
    lines: [...shown, { spans: [] }, ...lines],
    caret,
    hint: takesText ? 'enter sends it, escape goes back' : 'enter refuses and sends it, escape goes back',
  }
}
