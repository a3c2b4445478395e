import type { ReactNode } from 'react'
import { tintOf } from './tint.ts'
import { tooltip } from './tooltip.ts'

/** An icon with an accessible name. */
export const Fact = ({ name, kind = '', children }: { name: string; kind?: string; children: ReactNode }) => (
  <span className={`fact ${kind}`} role="img" aria-label={name} {...tooltip(name, { isName: true })}>
    {children}
  </span>
)

/** A person's initials, next to the person's name or in an element with a name of its own. */
export const Person = ({ name }: { name: string }) => (
  <span className="fact person tinted" style={tintOf(name)} aria-hidden="true">
    {initialsOf(name)}
  </span>
)

const initialsOf = (name: string): string => {
  // "ann (issue)" is A, not A(.
  const words = name
    .trim()
    .split(/\s+/)
    .filter((word, at) => at === 0 || /^[\p{L}\p{N}]/u.test(word))
  return [words[0], words.length > 1 ? words.at(-1) : '']
    .map(word => [...word!][0] ?? '')
    .join('')
    .toUpperCase()
}
