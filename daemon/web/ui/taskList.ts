import type { Token } from 'markdown-it'

/** A task of a list: `- [ ] text`. */
export type Task = {
  isDone: boolean
  label: string
  /** The line in the text, from 0. */
  line: number
}

const marker = /^\[([ xX])\] +(?=\S)/

/** Marks the list items that are tasks with a `Task`, and removes their boxes from the text. */
export function findTasks(tokens: Token[]): Token[] {
  tokens.forEach((token, at) => {
    const inline = tokens[at + 2]
    const first = inline?.children?.[0]
    if (token.type !== 'list_item_open' || inline?.type !== 'inline' || first?.type !== 'text') return
    const [found, sign] = marker.exec(inline.content) ?? []
    if (found === undefined) return
    first.content = first.content.slice(found.length)
    const label = inline.children!.map(({ content }) => content).join('')
    const task: Task = { isDone: sign !== ' ', line: token.map![0], label }
    token.meta = task
  })
  return tokens
}

/** Returns the text with the task in a line checked or unchecked. */
export function toggleTask(text: string, line: number): string {
  const lines = text.split('\n')
  lines[line] = lines[line]!.replace(/\[([ xX])\]/, (_, sign) => (sign === ' ' ? '[x]' : '[ ]'))
  return lines.join('\n')
}
