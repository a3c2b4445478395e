import { useEffect, useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { reasonOf } from '../app/reasons.ts'
import { homeName } from '../../../src/contract/forges/repositories.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { defaultAfterMerge, type AfterMerge } from '../../../src/contract/forges/afterMerge.ts'
import { mergedWords } from '../../../src/boardModel/mergedWords.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { RemoveWorktree } from '../card/RemoveWorktree.tsx'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Check } from '../ui/Inputs.tsx'
import { Conflicts } from './Conflicts.tsx'
import type { CardPlace } from './reviewStore.ts'

type Merged = Output<Contract['agents']['merge']>['repositories']
/** Describes a merge: the target branch, the commit, and the repository if there are several. */
const branchesOf = (all: Merged): string =>
  all
    .filter(({ merged }) => merged)
    .map(
      ({ repository, into, commit }) =>
        `into ${into} as ${commit.slice(0, 10)}${all.length > 1 || repository !== '' ? ` in ${repository || homeName}` : ''}`,
    )
    .join(', ')

interface MergeProps {
  place: CardPlace
  card: CardDetail
}

/** Merges the card's work into a branch, in each repository that it has touched; once it is merged, offers what can follow. */
export function MergeForm(props: MergeProps) {
  const [done, setDone] = useState('')
  const { card } = props
  // The branch lost the merge, or the card has new work: the last answer does not apply any more.
  useEffect(() => {
    if (card.mergedAt === null) setDone('')
  }, [card.mergedAt])
  return (
    <section className="merge panel" aria-label="Merge">
      <h2>Merge</h2>
      {card.mergedAt === null && <Offer {...props} onDone={setDone} />}
      {(done !== '' || card.mergedAt !== null) && (
        <p role="status">{done || `${mergedWords(card)} as ${card.mergedCommit?.slice(0, 10)}.`}</p>
      )}
      {card.mergedAt !== null && <Follow {...props} />}
    </section>
  )
}

/** The steps that can follow a merge, and were not taken with it. */
function Follow({ place, card }: MergeProps) {
  return (
    <div className="tools">
      {card.columnType !== 'done' && card.archivedAt === null && (
        <Button icon="check" onClick={() => client.cards.complete(place)}>
          Move to done column
        </Button>
      )}
      <RemoveWorktree />
    </div>
  )
}

/** The branch that the project's folder is on, by its name. */
async function readDefaultTarget(place: CardPlace): Promise<string> {
  const [home] = await client.branches.repositories(place)
  return home?.mergesInto ?? 'the current branch of the project’s folder'
}

function Offer({ place, card, onDone }: MergeProps & { onDone: (text: string) => void }) {
  const [into, setInto] = useState('')
  const [isSquash, setSquash] = useState(false)
  const usual = useProject(place.projectId)?.afterMerge
  const [given, setGiven] = useState<Partial<AfterMerge>>({})
  const after: AfterMerge = { ...defaultAfterMerge, ...usual, ...given }
  const [conflicts, setConflicts] = useState<readonly string[]>([])
  const target = into.trim()
  const merge = async () => {
    setConflicts([])
    try {
      const merged = await client.agents.merge({
        ...place,
        into: target || undefined,
        squash: isSquash,
        ...after,
      })
      const words = merged.merged
        ? `Merged ${branchesOf(merged.repositories)}.`
        : `${merged.into} already contains the work of this card.`
      onDone([words, merged.after.problem].filter(Boolean).join(' '))
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
    onDone('The card’s agent resolves the conflicts. Merge again when the agent has finished.')
  }
  return (
    <>
      <Form
        submit={isSquash ? 'Squash and merge…' : 'Merge…'}
        onSubmit={async () => {
          const branch = target || (await readDefaultTarget(place))
          confirm({
            title: 'Merge the card’s work?',
            text: `${card.gitBranch ?? 'The card’s work'} is merged into ${branch}${isSquash ? ' as one commit' : ''}. Uncommitted changes first become a commit on the card’s branch. If a folder has ${branch} checked out, its files change.`,
            submit: isSquash ? 'Squash and merge' : 'Merge',
            isDanger: false,
            run: merge,
          })
        }}
      >
        <Field label="Target branch" hint="Empty: the current branch of the project’s folder.">
          {props => <input {...props} value={into} maxLength={250} onChange={event => setInto(event.target.value)} />}
        </Field>
        <Check label="As one commit (squash)" value={isSquash} onChange={setSquash} />
        <Check
          label="Move the card to its done column"
          value={after.moveToDone}
          onChange={moveToDone => setGiven({ ...given, moveToDone })}
        />
        <Check
          label="Remove the worktree"
          value={after.removeWorktree}
          onChange={removeWorktree => setGiven({ ...given, removeWorktree })}
        />
      </Form>
      {conflicts.length > 0 && <Conflicts paths={conflicts} onResolve={target === '' ? resolve : undefined} />}
    </>
  )
}
