import { reasonOf } from '../app/reasons.ts'
import { Button } from '../ui/Button.tsx'
import type { useEdited } from './useEdited.ts'

/** Reports that another person has changed the edited text, or an error. The typed text is kept. */
export function Conflict({ edited }: { edited: ReturnType<typeof useEdited> }) {
  const { theirs, error, keepMine, end } = edited
  if (theirs !== undefined)
    return (
      <div className="notice failure" role="alert">
        <p>Another person has changed this text. Your version is kept. The current text is:</p>
        <pre className="printed theirs">{theirs === '' ? '(empty)' : theirs}</pre>
        <Button onClick={keepMine}>Keep mine</Button>
        <Button onClick={end}>Take theirs</Button>
      </div>
    )
  return error === undefined ? null : (
    <p className="error" role="alert">
      {reasonOf(error)}
    </p>
  )
}
