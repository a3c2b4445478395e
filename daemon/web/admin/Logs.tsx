import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Check, Choice, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { formatTime } from '../ui/Time.tsx'
import { usePoll } from '../ui/usePoll.ts'

type Entry = Output<Contract['logs']['list']>[number]
type Level = Entry['level']

const pageSize = 200
/** More are not kept while one follows. */
const maxKept = 2000
const levels = [
  ['info', 'all'],
  ['warn', 'warnings and errors'],
  ['error', 'errors'],
] as const

/** The server's log, newest first. */
export function Logs() {
  const [level, setLevel] = useState<Level>('info')
  const [words, setWords] = useState('')
  const [isFollowing, setFollowing] = useState(true)
  const [hasOlder, setOlder] = useState(true)
  const search = words.trim()
  const filter = { level, ...(search !== '' && { search }) }
  const loaded = useLoad(async () => {
    const page = await client.logs.list({ ...filter, limit: pageSize })
    setOlder(page.length === pageSize)
    return page
  }, [level, search])
  const entries = loaded.value
  usePoll(isFollowing && entries !== undefined, 1000, async () => {
    const after = Number(entries?.[0]?.id ?? 0)
    const more = await client.logs.list({ ...filter, after, limit: pageSize })
    if (more.length > 0) loaded.set([...more.toReversed(), ...entries!].slice(0, maxKept))
  })
  const readOlder = async () => {
    const more = await client.logs.list({ ...filter, before: Number(entries!.at(-1)!.id), limit: pageSize })
    setOlder(more.length === pageSize)
    setFollowing(false)
    loaded.set([...entries!, ...more])
  }
  return (
    <>
      <div className="filters">
        <TextInput
          label="Search"
          type="search"
          placeholder="words, a source or a request id"
          value={words}
          onChange={setWords}
        />
        <Choice label="Level" options={levels} value={level} onChange={setLevel} />
        <Check label="Follow" value={isFollowing} onChange={setFollowing} />
      </div>
      <Await of={loaded}>
        {all => (
          <>
            {all.length === 0 && <p>No entries.</p>}
            <ul className="log" aria-label="Log entries">
              {all.map(entry => (
                <LogEntry key={entry.id} entry={entry} onRequest={setWords} />
              ))}
            </ul>
            {hasOlder && all.length > 0 && <Button onClick={readOlder}>Older</Button>}
          </>
        )}
      </Await>
    </>
  )
}

function LogEntry({ entry, onRequest }: { entry: Entry; onRequest: (id: string) => void }) {
  const { at, level, source, message, requestId, fields } = entry
  const more = Object.entries(fields)
  return (
    <li className={level}>
      <div className="log-line">
        <time dateTime={at}>{formatTime(at, 'second')}</time>
        <strong>{level}</strong>
        <span className="dim">{source}</span>
        <span className="log-text">{message}</span>
        {requestId !== null && (
          <Button isPlain aria-label={`Show only request ${requestId}`} onClick={() => onRequest(requestId)}>
            <code>{requestId}</code>
          </Button>
        )}
      </div>
      {more.length > 0 && (
        <details>
          <summary>More</summary>
          <pre className="printed">
            {more.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`)}
          </pre>
        </details>
      )}
    </li>
  )
}
