import { createContext, isValidElement, useContext, type ReactNode } from 'react'

/** The text in the search of the settings. */
export const SettingsSearch = createContext('')

/** Returns whether a text contains each word of a search. */
export function isFound(text: string, search: string): boolean {
  const lower = text.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every(word => lower.includes(word))
}

/** Returns the rows that the search finds, or all rows if the search finds only other settings. */
export function useSearchedRows<T extends { name: string; about?: ReactNode; details?: ReactNode }>(
  rows: readonly T[],
): readonly T[] {
  const search = useContext(SettingsSearch)
  const found = rows.filter(({ name, about, details }) => isFound(textOf([name, about, details]), search))
  return found.length > 0 ? found : rows
}

/** Returns the text of a part of the page, without the text of components inside. */
function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join(' ')
  if (isValidElement<{ children?: ReactNode }>(node)) return textOf(node.props.children)
  return typeof node === 'string' || typeof node === 'number' ? String(node) : ''
}
