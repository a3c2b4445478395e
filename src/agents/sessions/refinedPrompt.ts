/** The refined prompt in what a planning agent said: its last block marked as such, or all of it. */
export function refinedPrompt(said: string): string {
  const blocks = [...said.matchAll(/^(`{3,})prompt[^\n]*\n([\s\S]*?)^\1\s*$/gm)]
  return (blocks.at(-1)?.[2] ?? said).trim()
}
