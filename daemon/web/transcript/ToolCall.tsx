import { useState } from 'react'
import type { Message } from '../../../src/boardModel/openedCard.ts'
import { lazyPart } from '../ui/lazyPart.tsx'
import { plainText } from '../ui/plainText.ts'
import { Clock } from './Clock.tsx'
import { toolTexts, type ToolTexts } from './toolTexts.ts'

const TextDiff = lazyPart(() => import('./TextDiff.tsx'), 'TextDiff', { fallback: <p className="dim">Loading…</p> })

type Tool = NonNullable<Message['tool']>
const signs = { pending: '○', in_progress: '▸', completed: '✓', failed: '✗' } as const

/** A tool call, folded to one line. Its input and output render when it is opened. */
export function ToolCall({ tool, content, at }: { tool: Tool; content: string; at: string }) {
  const [isOpen, setOpen] = useState(false)
  const { name, kind, status, locations } = tool
  const title = plainText(name || kind)
  const place = locations[0] && plainText(locations[0].path)
  return (
    <details className={`tool ${status}`} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="sign" aria-hidden="true">
          {signs[status]}
        </span>
        <span className="visually-hidden">{status.replace('_', ' ')}: </span>
        <span className="name">{title}</span>
        {place && !title.includes(place.split('/').at(-1)!) && <span className="place">{place}</span>}
        <span className="kind">{plainText(kind)}</span> <Clock at={at} />
      </summary>
      {isOpen && <ToolBody texts={toolTexts(tool, content)} />}
    </details>
  )
}

function ToolBody({ texts: { input, diffs, output, files } }: { texts: ToolTexts }) {
  return (
    <div className="tool-body">
      {files.length > 0 && <p className="dim">{files.join(', ')}</p>}
      {input !== '' && <Block label="Input" text={input} />}
      {diffs.map((diff, at) => (
        <TextDiff key={at} {...diff} />
      ))}
      {output !== '' && <Block label="Output" text={output} />}
      {input === '' && output === '' && diffs.length === 0 && <p className="dim">No details.</p>}
    </div>
  )
}

const maxShown = 10_000

function Block({ label, text }: { label: string; text: string }) {
  const [isWhole, setWhole] = useState(false)
  const isCut = text.length > maxShown && !isWhole
  return (
    <>
      <p className="part">{label}</p>
      <pre className="printed">{isCut ? `${text.slice(0, maxShown)}…` : text}</pre>
      {isCut && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </>
  )
}
