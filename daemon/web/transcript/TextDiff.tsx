import { structuredPatch } from 'diff'
import { useMemo } from 'react'
import type { FileChange } from './toolTexts.ts'

const maxLines = 1000

/** The changes that a tool call made in a file, line by line. */
export function TextDiff({ path, before, after }: FileChange) {
  const lines = useMemo(() => {
    const patch = structuredPatch('', '', before, after, '', '', { context: 3, maxEditLength: 2000 })
    return patch
      ? patch.hunks.flatMap(({ lines: some, oldStart }) => [`@@ ${oldStart}`, ...some])
      : [...before.split('\n').map(line => `-${line}`), ...after.split('\n').map(line => `+${line}`)]
  }, [before, after])
  return (
    <>
      <p className="part">{path || 'Change'}</p>
      <pre className="text-diff">
        {lines.slice(0, maxLines).map((line, at) => (
          <span key={at} className={kinds[line[0]!] ?? 'same'}>
            {line || ' '}
          </span>
        ))}
        {lines.length > maxLines && <span className="hunk">{lines.length - maxLines} more lines</span>}
      </pre>
    </>
  )
}

const kinds: Record<string, string> = { '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'hunk' }
