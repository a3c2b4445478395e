import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { reasonOf } from '../app/reasons.ts'
import { homeName } from '../../../src/contract/repositories.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { client } from '../app/session.ts'
import { confirm } from '../ui/confirm.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Conflicts } from './Conflicts.tsx'
import type { CardPlace } from './reviewStore.ts'

type Merged = Output<Contract['agents']['merge']>['repositories']
/** Into which branch, as which commit, and where there are several in which repository. */
const mergedWords = (all: Merged): string =>
  all
    .filter(({ merged }) => merged)
    .map(
      ({ repository, into, commit }) =>
        `into ${into} as ${commit.slice(0, 10)}${all.length > 1 || repository !== '' ? ` in ${repository || homeName}` : ''}`,
    )
    .join(', ')

/** Brings the card's work into a branch, in each repository that it has touched. */
export function MergeForm({ place, card }: { place: CardPlace; card: CardDetail }) {
  const [into, setInto] = useState('')
  const [isSquash, setSquash] = useState(false)
  const [conflicts, setConflicts] = useState<readonly string[]>([])
  const [done, setDone] = useState('')
  const target = into.trim() === '' ? 'the branch that the project’s folder is on' : into.trim()
  const merge = async () => {
    setConflicts([])
    try {
      const merged = await client.agents.merge({ ...place, into: into.trim() || undefined, squash: isSquash })
      setDone(
        merged.merged
          ? `Merged ${mergedWords(merged.repositories)}.`
          : `${merged.into} has everything of this card already.`,
      )
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 'MERGE_CONFLICT') throw error
      setConflicts(
        error.details.length > 0
          ? error.details.map(({ path, message }) => (message === 'has a conflict' ? path : `${path} (${message})`))
          : [reasonOf(error)],
      )
    }
  }
  const resolve = async () => {
    await client.branches.update({ ...place, resolve: true })
    setConflicts([])
    setDone('Its agent was told to resolve the conflicts. Merge again when it is done.')
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
      {conflicts.length > 0 && <Conflicts paths={conflicts} onResolve={into.trim() === '' ? resolve : undefined} />}
    </section>
  )
}
