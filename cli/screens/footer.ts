import type { ShortcutAction } from '../../src/contract/accounts/shortcuts.ts'
import { meanings, shownKeys } from '../../src/boardModel/actionMeanings.ts'
import { boardOf } from '../ui/state/board.ts'
import { named } from '../ui/state/actions.ts'
import type { Model } from '../ui/state/model.ts'
import type { TextField } from '../ui/state/textField.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'
import type { Pane } from '../ui/terminal/panes.ts'
import { seenOf } from './field.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, fitSpans, span, widthOfSpans } from './spans.ts'

interface Foot {
  line: Line
  caretX?: number
}

/** Draws the last line: the input, the notice, or the key hints. Without a status line, only the first two. */
export function footer(model: Model, theme: Theme): Pane | undefined {
  const foot = footOf(model, theme)
  if (!foot) return undefined
  const { width, height } = model.size
  const caret = foot.caretX === undefined ? undefined : { x: foot.caretX, y: 0 }
  return { x: 0, y: height - 1, width, height: 1, lines: [foot.line], caret }
}

function footOf(model: Model, theme: Theme): Foot | undefined {
  const { dialog, notice, size, view } = model
  const { palette, glyphs } = theme
  if (dialog?.kind === 'filter')
    return drawInput('/', dialog.field, [span('enter confirms, escape cancels ', palette.dim)], model, theme)
  if (model.drag?.over) return { line: spreadSpans([span(` ${dropText(model)}`, palette.accent)], [], size.width) }
  if (notice)
    return {
      line: spreadSpans(
        [span(` ${notice.text}`, notice.isError ? palette.error : palette.good)],
        [],
        size.width,
        undefined,
        glyphs.ellipsis,
      ),
    }
  if (!model.settings.statusLine) return undefined
  const state = [
    ...(view.selected.size > 0 && !model.opened ? [span(`${view.selected.size} selected  `, palette.selected)] : []),
    ...(view.filter !== '' && !model.opened ? [span(`/${view.filter}  `, palette.warn)] : []),
    ...(model.pressed.length > 0 ? [span(`${model.pressed.join('')} `, palette.accent)] : []),
  ]
  return { line: spreadSpans(keyHints(model, theme, size.width - widthOfSpans(state) - 1), state, size.width) }
}

function drawInput(
  sign: string,
  field: TextField,
  right: readonly Span[],
  { size }: Model,
  { palette, glyphs }: Theme,
): Foot {
  const aside = fitSpans(right, Math.floor(size.width / 2), '')
  const { text, caret } = seenOf(field, size.width - 3 - widthOfSpans(aside))
  return {
    line: spreadSpans(
      [span(` ${sign}`, palette.accent), span(text, palette.strong)],
      aside,
      size.width,
      undefined,
      glyphs.ellipsis,
    ),
    caretX: 2 + caret,
  }
}

/** Returns the result of releasing the mouse button. */
function dropText(model: Model): string {
  const { cardIds, over } = model.drag!
  const column = boardOf(model).columns.find(({ id }) => id === over?.columnId)
  return `Release to move ${named(cardIds.map(id => ({ id })))} to ${column?.name ?? ''}.`
}

const onBoard: [ShortcutAction, string][] = [
  ['open', 'open'],
  ['moveLeft', ''],
  ['moveRight', 'move'],
  ['add', 'add'],
  ['run', 'run'],
  ['approve', 'approve'],
  ['cancel', 'cancel'],
  ['select', 'select'],
  ['filter', 'filter'],
  ['jump', 'jump'],
  ['edit', 'edit'],
  ['undo', 'undo'],
  ['moveTo', 'to column'],
  ['label', 'label'],
  ['plan', 'plan'],
  ['comment', 'comment'],
  ['agent', 'agent'],
  ['merge', 'merge'],
  ['archive', 'archive'],
  ['delete', 'delete'],
  ['density', 'density'],
  ['sort', 'sort'],
  ['preview', 'preview'],
  ['browser', 'browser'],
  ['project', 'projects'],
  ['quit', 'quit'],
]
const onCard: [ShortcutAction, string][] = [
  ['nextTab', 'next tab'],
  ['down', ''],
  ['up', 'scroll'],
  ['send', 'message'],
  ['comment', 'comment'],
  ['run', 'run'],
  ['approve', 'approve'],
  ['cancel', 'cancel'],
  ['edit', 'edit'],
  ['back', 'back'],
  ['merge', 'merge'],
  ['moveTo', 'to column'],
  ['label', 'label'],
  ['plan', 'plan'],
  ['browser', 'browser'],
]

/** Returns as many key hints as fit. Within a key sequence, returns its possible next keys. */
function keyHints({ keymap, opened, pressed }: Model, { palette }: Theme, room: number): Span[] {
  if (pressed.length > 0) {
    const begun = `${pressed.join(' ')} `
    return [...keymap.sequences].flatMap(([keys, binding]) =>
      keys.startsWith(begun)
        ? [
            span(` ${shownKeys(keys.slice(begun.length))}`, palette.key),
            span(` ${typeof binding === 'string' ? meanings[binding] : binding.name} `, palette.dim),
          ]
        : [],
    )
  }
  const hint = ([action, text]: [ShortcutAction, string]): Span[] => {
    const key = keymap.keysOf[action][0]
    if (key === undefined) return []
    return [span(shownKeys(key), palette.key), span(text === '' ? '/' : ` ${text}  `, palette.dim)]
  }
  const spans = [span(' ')]
  for (const each of [['help', 'help'] as [ShortcutAction, string], ...(opened ? onCard : onBoard)]) {
    const next = hint(each)
    if (widthOfSpans(spans) + widthOfSpans(next) > room + 2) break
    spans.push(...next)
  }
  return spans
}
