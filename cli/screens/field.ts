import { widthOf } from '../output/text.ts'
import type { TextField } from '../ui/state/textField.ts'

/** The part of a field that is seen: it scrolls sideways so that its caret is, which stands `caret` cells from its beginning. */
export function seenOf({ graphemes, at }: TextField, room: number): { text: string; caret: number } {
  let start = at
  let caret = 0
  while (start > 0 && caret + widthOf(graphemes[start - 1]!) < room) caret += widthOf(graphemes[--start]!)
  return { text: graphemes.slice(start).join(''), caret }
}
