import { widthOf } from '../output/text.ts'
import type { TextField } from '../ui/state/textField.ts'

/** The visible part of a field, scrolled so that the caret is visible. `caret` is its distance from the start in cells. */
export function seenOf({ graphemes, at }: TextField, room: number): { text: string; caret: number } {
  let start = at
  let caret = 0
  while (start > 0 && caret + widthOf(graphemes[start - 1]!) < room) caret += widthOf(graphemes[--start]!)
  return { text: graphemes.slice(start).join(''), caret }
}
