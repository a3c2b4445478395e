/** The refined prompt in a message of a planning agent: its last ```prompt block, else the whole message. */
export function parseRefinedPrompt(message: string): string {
  const blocks = [...message.matchAll(/^(`{3,})prompt[^\n]*\n([\s\S]*?)^\1\s*$/gm)]
  return (blocks.at(-1)?.[2] ?? message).trim()
}
