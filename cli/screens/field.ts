import { widthOf } from '../output/text.ts'
import type { TextField } from '../ui/state/textField.ts'

/** The visible part of a field. It scrolls horizontally to keep the caret visible, which is `caret` cells from its start. */
export function seenOf({ graphemes, at }: TextField, room: number): { text: string; caret: number } {
  let start = at
  let caret = 0
  while (start > 0 && caret + widthOf(graphemes[start - 1]!) < room) caret += widthOf(graphemes[--start]!)
  return { text: graphemes.slice(start).join(''), caret }
}
