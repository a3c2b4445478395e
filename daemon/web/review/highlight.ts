import type { RootContent } from 'hast'
import { useEffect } from 'react'
import { Store, useStore } from '../app/store.ts'
import { languageOf, loadLanguage } from './languages.ts'

/** A part of a line with the class of its color. */
export interface Token {
  text: string
  className: string | undefined
}
export type Highlight = (lines: readonly string[]) => Token[][] | undefined

const maxCharacters = 40_000
const loaded = new Store<ReadonlyMap<string, Highlight>>(new Map())
const asked = new Set<string>()

/**
 * Returns the highlighter of a file's language after it is loaded. Loading starts when the first file of the language
 * is near.
 */
export function useHighlight(path: string, isNear: boolean): Highlight | undefined {
  const language = languageOf(path)
  useEffect(() => {
    if (isNear && language !== undefined) void load(language)
  }, [isNear, language])
  return useStore(loaded, all => (language === undefined ? undefined : all.get(language)))
}

async function load(language: string): Promise<void> {
  if (asked.has(language)) return
  asked.add(language)
  try {
    const [{ highlighter }, grammars] = await Promise.all([import('./highlighter.ts'), loadLanguage(language)])
    highlighter.register(grammars)
    const highlight: Highlight = lines => {
      const text = lines.join('\n')
      if (text.length > maxCharacters) return undefined
      const tokens: Token[][] = [[]]
      for (const node of highlighter.highlight(language, text).children) addTokens(tokens, node, undefined)
      return tokens
    }
    loaded.set(new Map(loaded.get()).set(language, highlight))
  } catch {
    // The file is shown without colors, and loading is retried for the next file.
    asked.delete(language)
  }
}

function addTokens(lines: Token[][], node: RootContent, className: string | undefined): void {
  if (node.type === 'element') {
    const names = node.properties.className
    const own = Array.isArray(names) ? names.join(' ') : className
    for (const child of node.children) addTokens(lines, child, own)
  } else if (node.type === 'text')
    node.value.split('\n').forEach((text, at) => {
      if (at > 0) lines.push([])
      if (text !== '') lines.at(-1)!.push({ text, className })
    })
}
