import { diffWordsWithSpace } from 'diff'
import type { ReactNode } from 'react'
import type { DiffLine } from '../../../src/contract/forges/diffFiles.ts'
import type { Token } from './highlight.ts'

const maxCompared = 1000
const maxShown = 4000
/** Control, zero-width and bidirectional characters. */
const invisible =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/
const invisibleRuns = new RegExp(`(${invisible.source})`)

/** Untrusted text, in which each invisible character is replaced by its code point. */
export function Visible({ text }: { text: string }): ReactNode {
  if (!invisible.test(text)) return text
  return text.split(invisibleRuns).map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <span key={at} className="hidden-character">
        {nameOf(part)}
      </span>
    ),
  )
}

const nameOf = (character: string): string => `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`

/** The ranges [from, to) of a line that differ from its paired line. Undefined if less than a quarter is unchanged. */
function changedRanges({ kind, text, pair }: DiffLine): [number, number][] | undefined {
  if (!pair || text.length > maxCompared || pair.text.length > maxCompared) return undefined
  const [before, after] = kind === 'removed' ? [text, pair.text] : [pair.text, text]
  const ranges: [number, number][] = []
  let at = 0
  let common = 0
  for (const { value, added, removed } of diffWordsWithSpace(before, after, { maxEditLength: 200 }) ?? []) {
    if (!added && !removed) common += value.trim().length
    if (kind === 'removed' ? added : removed) continue
    if (added || removed) ranges.push([at, at + value.length])
    at += value.length
  }
  return common * 4 < Math.min(before.trim().length, after.trim().length) ? undefined : ranges
}

/** Renders a line with syntax colors and with its changed ranges marked. */
export function lineParts(line: DiffLine, tokens: readonly Token[] | undefined): ReactNode {
  const text = line.text.length > maxShown ? line.text.slice(0, maxShown) : line.text
  const parts = splitAtRanges(
    tokens && text === line.text ? tokens : [{ text, className: undefined }],
    changedRanges(line) ?? [],
  )
  return (
    <>
      {parts.map(({ text: part, className, isChanged }, at) => {
        const shown = <Visible text={part} />
        if (isChanged)
          return (
            <mark key={at} className={className}>
              {shown}
            </mark>
          )
        return className === undefined ? (
          <Visible key={at} text={part} />
        ) : (
          <span key={at} className={className}>
            {shown}
          </span>
        )
      })}
      {text !== line.text && <em className="dim"> … {line.text.length - maxShown} more characters</em>}
      {line.isUnended && <em className="dim"> (no line break at the end)</em>}
    </>
  )
}

interface Part extends Token {
  isChanged: boolean
}

function splitAtRanges(tokens: readonly Token[], ranges: readonly [number, number][]): Part[] {
  const parts: Part[] = []
  let at = 0
  let range = 0
  for (const { text, className } of tokens) {
    let from = 0
    while (from < text.length) {
      while (range < ranges.length && ranges[range]![1] <= at + from) range++
      const [start, end] = ranges[range] ?? [Infinity, Infinity]
      const isChanged = start <= at + from
      const to = Math.min(text.length, (isChanged ? end : start) - at)
      parts.push({ text: text.slice(from, to), className, isChanged })
      from = to
    }
    at += text.length
  }
  return parts
}
