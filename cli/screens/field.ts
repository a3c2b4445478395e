import { widthOf } from '../output/text.ts'
import type { TextField } from '../ui/state/textField.ts'

/** The part of a field that is seen: it scrolls sideways so that its caret is, which stands `caret` cells from its beginning. */
export function seenOf({ signs, at }: TextField, room: number): { text: string; caret: number } {
  let start = at
  let caret = 0
  while (start > 0 && caret + widthOf(signs[start - 1]!) < room) caret += widthOf(signs[--start]!)
  return { text: signs.slice(start).join(''), caret }
}
