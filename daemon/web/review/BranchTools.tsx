import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Conflicts } from './Conflicts.tsx'
import type { CardPlace } from './reviewStore.ts'

interface BranchToolsProps {
  place: CardPlace & { repository: string }
  /** Whether the repository has a remote to push to. */
  hasRemote: boolean
}

/** Updates the card's branch from its base, and pushes it. */
export function BranchTools({ place, hasRemote }: BranchToolsProps) {
  const [conflicts, setConflicts] = useState<readonly string[]>([])
  const [done, setDone] = useState('')
  const update = async () => {
    setConflicts([])
    try {
      const { updated, branch, remark } = await client.branches.update(place)
      const unchanged = remark === null ? 'is up to date with its base' : 'is unchanged'
      setDone([remark, updated ? `Updated ${branch}.` : `${branch} ${unchanged}.`].filter(Boolean).join(' '))
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 'MERGE_CONFLICT') throw error
      setConflicts(error.details.map(({ path }) => path))
      setDone('')
    }
  }
  const push = async (force: boolean) => {
    const { pushed, branch, remote } = await client.branches.push({ ...place, force })
    setDone(pushed ? `Pushed ${branch} to ${remote}.` : `${remote} is up to date with ${branch}.`)
  }
  const pushOrAsk = () =>
    push(false).catch((error: unknown) => {
      if (!(error instanceof ApiFailure) || error.code !== 'PUSH_REJECTED') throw error
      confirm({
        title: 'Replace the remote branch?',
        text: `${error.message} Commits that another person pushed since the last fetch are never replaced.`,
        submit: 'Replace',
        run: () => push(true),
      })
    })
  return (
    <section className="panel" aria-label="Branch">
      <h2>Branch{place.repository && ` in ${place.repository}`}</h2>
      <p className="hint">Uncommitted changes first become a commit on the card’s branch.</p>
      <div className="tools">
        <Button onClick={update}>Update from base</Button>
        {hasRemote && <Button onClick={pushOrAsk}>Push</Button>}
      </div>
      {done !== '' && <p role="status">{done}</p>}
      {conflicts.length > 0 && (
        <Conflicts
          paths={conflicts}
          onResolve={async () => {
            await client.branches.update({ ...place, resolve: true })
            setConflicts([])
            setDone('The card’s agent is resolving the conflicts. Update again when the agent has finished.')
          }}
        />
      )}
    </section>
  )
}
