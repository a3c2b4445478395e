const names: Record<string, string> = { ' ': 'space', ',': 'comma', Esc: 'escape' }

/** The name of a key as shortcuts have it: `j`, `G`, `left`, `ctrl+d`. */
export function keyName({ key, ctrlKey, altKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey'>): string {
  const name = names[key] ?? (key.length === 1 ? key : key.replace(/^Arrow/, '').toLowerCase())
  return `${ctrlKey ? 'ctrl+' : ''}${altKey ? 'alt+' : ''}${name}`
}

/** Keys whose browser function is never overridden. */
export const browserKeys: ReadonlySet<string> = new Set(['ctrl+r', 'ctrl+l', 'ctrl+t', 'ctrl+w', 'ctrl+n'])
