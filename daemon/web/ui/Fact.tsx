import type { ReactNode } from 'react'

/** An icon with an accessible name. */
export const Fact = ({ name, kind = '', children }: { name: string; kind?: string; children: ReactNode }) => (
  <span className={`fact ${kind}`} role="img" aria-label={name} title={name}>
    {children}
  </span>
)

/** A person's initials. `about` describes the person's relation to the card if the context does not. */
export const Person = ({ name, about, isAssigned }: { name: string; about?: string; isAssigned?: boolean }) => {
  const kind = isAssigned ? 'person assigned' : 'person'
  return about === undefined ? (
    <span className={`fact ${kind}`} aria-hidden="true">
      {initialsOf(name)}
    </span>
  ) : (
    <Fact name={about} kind={kind}>
      {initialsOf(name)}
    </Fact>
  )
}

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
