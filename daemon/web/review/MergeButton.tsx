import { useState } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Icon } from '../ui/Icon.tsx'
import { lazyPart } from '../ui/lazyPart.tsx'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import { useMergeCheck, type MergeCheck } from './mergeCheck.ts'
import { MergeDialog, type MergeKind } from './MergeDialog.tsx'
import type { PullDraft } from './pullRequest.ts'
import type { ReadDiff, ReviewStore } from './reviewStore.ts'
import { tooltip } from '../ui/tooltip.ts'

const NewPullRequest = lazyPart(() => import('./NewPullRequest.tsx'), 'NewPullRequest', { isDialog: true })

interface MergeButtonProps {
  review: ReviewStore
  card: CardDetail
  diff: ReadDiff
  /** Called with the result in words. */
  onMerged: (result: string) => void
}

/** Whether the card's work can be merged, the button that merges it, and a menu of other ways. */
export function MergeButton({ review, card, diff, onMerged }: MergeButtonProps) {
  const [kind, setKind] = useState<MergeKind>()
  const [draft, setDraft] = useState<PullDraft>()
  const { repositories = [] } = useStore(review.state)
  const check = useMergeCheck(review.place, '', card.hasActiveAgent ? null : diff)
  const branch = repositories[0]?.mergesInto ?? 'the project’s folder'
  const place = { ...review.place, repository: diff.repository }
  const hasRemote = repositories.some(({ name, remote }) => name === diff.repository && remote !== null)
  const items: MenuItem[] = [
    { label: 'Squash and merge…', run: () => setKind('squash') },
    { label: 'Merge into another branch…', run: () => setKind('branch') },
    { label: 'Add to the landing queue', run: () => client.landings.add(review.place), separator: true },
  ]
  if (hasRemote && card.pullRequest === null)
    items.push({
      label: 'Open pull request…',
      run: async () => setDraft(await client.pullRequests.draft(place)),
      separator: true,
    })
  return (
    <>
      <MergeState check={check} branch={branch} />
      <span className="split-button">
        <Button icon="branch" isMain disabled={check?.hasWork === false} onClick={() => setKind('merge')}>
          Merge…
        </Button>
        <Menu label="Other ways to merge" icon="down" isMain items={items} />
      </span>
      {kind && (
        <MergeDialog review={review} card={card} kind={kind} onMerged={onMerged} onClose={() => setKind(undefined)} />
      )}
      {draft && <NewPullRequest place={place} draft={draft} onCreated={() => {}} onClose={() => setDraft(undefined)} />}
    </>
  )
}

function MergeState({ check, branch }: { check: MergeCheck | undefined; branch: string }) {
  if (!check) return null
  const { conflicts, problem, hasWork } = check
  if (conflicts.length === 0 && problem === null)
    return (
      <span className="merge-state dim">
        {hasWork ? `No conflicts with ${branch}` : `${branch} already contains this work`}
      </span>
    )
  const words =
    problem ?? `Conflicts with ${branch} in ${conflicts.length === 1 ? '1 file' : `${conflicts.length} files`}`
  return (
    <span className="merge-state warning" {...tooltip(words, { isName: true })}>
      <Icon name="warning" /> {words}
    </span>
  )
}
