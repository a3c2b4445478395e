import { useState } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { defaultAfterMerge, type AfterMerge } from '../../../src/contract/forges/afterMerge.ts'
import { homeName } from '../../../src/contract/forges/repositories.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Check, TextInput } from '../ui/Inputs.tsx'
import { Conflicts } from './Conflicts.tsx'
import { conflictsOf, useMergeCheck, type MergeCheck } from './mergeCheck.ts'
import type { ReviewStore } from './reviewStore.ts'

/** A merge into the default branch, a squashed merge, or a merge into another branch. */
export type MergeKind = 'merge' | 'squash' | 'branch'

interface MergeDialogProps {
  review: ReviewStore
  card: CardDetail
  kind: MergeKind
  /** Called with the result in words. */
  onMerged: (result: string) => void
  onClose: () => void
}

/** Merges the card's work into a branch, in each repository that it has changed. */
export function MergeDialog({ review: { place, state }, card, kind, onMerged, onClose }: MergeDialogProps) {
  const [into, setInto] = useState('')
  const [isSquash, setSquash] = useState(kind === 'squash')
  const usual = useProject(place.projectId)?.afterMerge
  const [given, setGiven] = useState<Partial<AfterMerge>>({})
  const { repositories: [home] = [] } = useStore(state)
  const after: AfterMerge = { ...defaultAfterMerge, ...usual, ...given }
  const target = into.trim()
  const tried = useMergeCheck(place, target)
  const isOpen = kind === 'branch' && target === ''
  const check = isOpen ? undefined : tried
  const branch = isOpen
    ? 'the target branch'
    : target || (home?.mergesInto ?? 'the current branch of the project’s folder')
  const [found, setFound] = useState<readonly string[]>([])
  const conflicts = check && check.conflicts.length > 0 ? check.conflicts : found
  const finish = (result: string) => {
    onMerged(result)
    onClose()
  }
  const merge = async () => {
    setFound([])
    try {
      const {
        merged,
        repositories,
        into: where,
        after: steps,
      } = await client.agents.merge({
        ...place,
        into: target || undefined,
        squash: isSquash,
        ...after,
      })
      const words = merged ? `Merged ${branchesOf(repositories)}.` : `${where} already contains the work of this card.`
      finish([words, steps.problem].filter(Boolean).join(' '))
    } catch (error) {
      const paths = conflictsOf(error)
      if (paths.length === 0) throw error
      setFound(paths)
    }
  }
  const resolve = async () => {
    await client.branches.update({ ...place, resolve: true })
    finish('The card’s agent resolves the conflicts. Merge again when the agent has finished.')
  }
  return (
    <FormDialog
      title="Merge the card’s work"
      submit={isSquash ? 'Squash and merge' : 'Merge'}
      isDisabled={check && (check.conflicts.length > 0 || check.problem !== null)}
      onSubmit={merge}
      onClose={onClose}
    >
      <p>
        {card.gitBranch ?? 'The card’s work'} is merged into {branch}
        {isSquash && ' as one commit'}. Uncommitted changes first become a commit on the card’s branch. If a folder has{' '}
        {branch} checked out, its files change.
      </p>
      {kind === 'branch' && (
        <TextInput label="Target branch" required maxLength={250} value={into} onChange={setInto} />
      )}
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
      {conflicts.length === 0 && !isOpen && <CheckResult check={check} branch={branch} />}
      {conflicts.length > 0 && <Conflicts paths={conflicts} onResolve={target === '' ? resolve : undefined} />}
    </FormDialog>
  )
}

function CheckResult({ check, branch }: { check: MergeCheck | undefined; branch: string }) {
  if (!check) return <p className="hint">Checking for conflicts…</p>
  if (check.problem !== null) return <p className="error">{check.problem}</p>
  return <p className="hint">{check.hasWork ? 'No conflicts.' : `${branch} already contains the work of this card.`}</p>
}

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
