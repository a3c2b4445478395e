import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { reasonOf } from '../app/reasons.ts'
import { client } from '../app/session.ts'
import { confirm } from '../ui/confirm.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Visible } from './lineParts.tsx'
import type { ReviewStore } from './reviewStore.ts'

/** Brings the card's work into a branch. */
export function MergeForm({ review, card }: { review: ReviewStore; card: CardDetail }) {
  const [into, setInto] = useState('')
  const [isSquash, setSquash] = useState(false)
  const [conflicts, setConflicts] = useState<readonly string[]>([])
  const [done, setDone] = useState('')
  const target = into.trim() === '' ? 'the branch that the project’s folder is on' : into.trim()
  const merge = async () => {
    setConflicts([])
    try {
      const merged = await client.agents.merge({ ...review.place, into: into.trim() || undefined, squash: isSquash })
      setDone(
        merged.merged
          ? `Merged into ${merged.into} as ${merged.commit.slice(0, 10)}.`
          : `${merged.into} has everything of this card already.`,
      )
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 'MERGE_CONFLICT') throw error
      setConflicts(error.details.length > 0 ? error.details.map(({ path }) => path) : [reasonOf(error)])
    }
  }
  return (
    <section className="merge panel" aria-label="Merge">
      <h2>Merge</h2>
      <Form
        submit={isSquash ? 'Squash and merge…' : 'Merge…'}
        onSubmit={async () =>
          confirm({
            title: 'Merge the card’s work?',
            text: `${card.gitBranch ?? 'The card’s work'} goes into ${target}${isSquash ? ' as one commit' : ''}. What is not committed yet becomes a commit of the card’s branch first. Where ${target} is checked out, its files change.`,
            submit: isSquash ? 'Squash and merge' : 'Merge',
            isDanger: false,
            run: merge,
          })
        }
      >
        <Field label="Into the branch" hint="Empty: the one that the project’s folder is on.">
          {props => <input {...props} value={into} maxLength={250} onChange={event => setInto(event.target.value)} />}
        </Field>
        <label>
          <input type="checkbox" checked={isSquash} onChange={event => setSquash(event.target.checked)} /> As one commit
          (squash)
        </label>
      </Form>
      {done !== '' && <p role="status">{done}</p>}
      {conflicts.length > 0 && <Conflicts paths={conflicts} target={target} />}
    </section>
  )
}

const Conflicts = ({ paths, target }: { paths: readonly string[]; target: string }) => (
  <div className="notice failure" role="alert">
    <div>
      <p>The merge has conflicts, and nothing was changed. Both sides have changed:</p>
      <ul>
        {paths.map(path => (
          <li key={path}>
            <code dir="ltr">
              <Visible text={path} />
            </code>
          </li>
        ))}
      </ul>
      <p>Ask the agent to merge {target} into its branch, or solve them in the card’s worktree.</p>
    </div>
  </div>
)
