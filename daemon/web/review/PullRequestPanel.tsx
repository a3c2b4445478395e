import { useState } from 'react'
import { announce, showError } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { useCard } from '../card/openedCard.ts'
import { Away } from '../ui/Away.tsx'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Check, Choice } from '../ui/Inputs.tsx'
import { lazyPart } from '../ui/lazyPart.tsx'
import { usePullRequest, type Place, type Pull, type PullDraft } from './pullRequest.ts'

const NewPullRequest = lazyPart(() => import('./NewPullRequest.tsx'), 'NewPullRequest', { isDialog: true })

const EditPullRequest = lazyPart(() => import('./EditPullRequest.tsx'), 'EditPullRequest', { isDialog: true })

const methods = [
  ['merge', 'a merge commit'],
  ['squash', 'one commit (squash)'],
  ['rebase', 'rebased commits'],
] as const

interface PullRequestPanelProps {
  place: Place
  mayWrite: boolean
  /** Whether the repository has a remote for a new pull request. */
  hasRemote: boolean
}

/** The card's pull request on the project's forge. */
export function PullRequestPanel({ place, mayWrite, hasRemote }: PullRequestPanelProps) {
  const { pull, put } = usePullRequest(place, useCard().pullRequest !== null)
  const [draft, setDraft] = useState<PullDraft>()
  if (pull === undefined || (pull === null && !(mayWrite && hasRemote))) return null
  const isOver = pull === null || pull.state === 'merged' || pull.state === 'closed'
  return (
    <section className="panel pull-request" aria-label="Pull request">
      <h2>Pull request{place.repository && ` in ${place.repository}`}</h2>
      {pull && <About pull={pull} />}
      {pull && !isOver && pull.stopped !== null && <Stopped place={place} pull={pull} put={put} mayWrite={mayWrite} />}
      {pull && !isOver && mayWrite && <Tools key={pull.number} place={place} pull={pull} put={put} />}
      {mayWrite && (isOver || pull?.state === 'creating') && (
        <>
          {pull === null && <p className="hint">The board pushes the card’s branch first.</p>}
          <div className="tools">
            <Button onClick={async () => setDraft(await client.pullRequests.draft(place))}>
              {pull === null
                ? 'Open pull request…'
                : pull.state === 'creating'
                  ? 'Retry…'
                  : 'Open another pull request…'}
            </Button>
          </div>
        </>
      )}
      {draft && <NewPullRequest place={place} draft={draft} onCreated={put} onClose={() => setDraft(undefined)} />}
    </section>
  )
}

const stateWords = { creating: 'being opened', open: 'open', merged: 'merged', closed: 'closed' } as const
const checkSigns = { pending: 'more', success: 'check', failure: 'warning', neutral: 'check' } as const
const reviewWords = {
  approved: 'approved',
  changes_requested: 'requests changes',
  commented: 'commented',
  dismissed: 'was dismissed',
} as const

/** The state of a pull request with its checks and reviews, as the forge reports them. */
function About({ pull }: { pull: Pull }) {
  const { number, url, title, state, draft, base, checks, reviews, problem } = pull
  return (
    <>
      <p>
        <Away url={url}>{number === null ? title : `#${number} ${title}`}</Away>{' '}
        <span className={`mark pull-${state}`}>{draft && state === 'open' ? 'draft' : stateWords[state]}</span>{' '}
        <span className="dim">into {base}</span>
      </p>
      {checks.length > 0 && (
        <ul className="plain" aria-label="Checks">
          {checks.map(({ name, state: how, url: at }) => (
            <li key={name} className={`check-${how}`}>
              <Icon name={checkSigns[how]} /> <Away url={at}>{name}</Away> <span className="dim">{how}</span>
            </li>
          ))}
        </ul>
      )}
      {reviews.length > 0 && (
        <ul className="plain" aria-label="Reviews">
          {reviews.map(({ author, state: verdict, url: at }) => (
            <li key={author} className={`verdict-${verdict}`}>
              <Icon name="eye" /> <Away url={at}>{author}</Away> <span className="dim">{reviewWords[verdict]}</span>
            </li>
          ))}
        </ul>
      )}
      {problem !== null && <p className="hint">{problem}</p>}
    </>
  )
}

interface ToolsProps {
  place: Place
  pull: Pull
  put: (pull: Pull) => void
}

function Tools({ place, pull, put }: ToolsProps) {
  const [present, setPresent] = useState<PullDraft>()
  const [method, setMethod] = useState(pull.mergeMethod)
  const [force, setForce] = useState(false)
  const { number, base, headCommit, draft, autoMerge } = pull
  if (pull.state !== 'open') return null
  const merge = async () =>
    put(await client.pullRequests.merge({ ...place, method, force, headCommit: headCommit ?? undefined }))
  const change = async (fields: { draft?: boolean; autoMerge?: boolean }) =>
    put(await client.pullRequests.update({ ...place, ...fields }))
  return (
    <>
      <Choice label="Merge method" options={methods} value={method} onChange={setMethod} />
      <Check label="Ignore checks and reviews, if the forge allows it" value={force} onChange={setForce} />
      <Auto value={autoMerge} onChange={value => change({ autoMerge: value })} />
      <div className="tools">
        <Button
          isMain
          onClick={() =>
            confirm({
              title: `Merge #${number}?`,
              text: `This merges the pull request into ${base} on the forge, in the state shown here.`,
              submit: 'Merge',
              isDanger: false,
              run: merge,
            })
          }
        >
          Merge…
        </Button>
        {draft && <Button onClick={() => change({ draft: false })}>Ready for review</Button>}
        <Button onClick={async () => setPresent(await client.pullRequests.draft(place))}>Edit…</Button>
        <Button
          onClick={() =>
            confirm({
              title: `Close #${number}?`,
              text: 'This closes the pull request on the forge without a merge. The branch remains.',
              submit: 'Close pull request',
              run: () => client.pullRequests.close(place),
            })
          }
        >
          Close…
        </Button>
      </div>
      {present && (
        <EditPullRequest
          place={place}
          pull={pull}
          present={present}
          onChanged={put}
          onClose={() => setPresent(undefined)}
        />
      )}
    </>
  )
}

/** The reason why the pull request waits for a person, and the button that continues it. */
function Stopped({ place, pull, put, mayWrite }: ToolsProps & { mayWrite: boolean }) {
  const maxRounds = useProject(place.projectId)?.forge.maxRounds
  const { number, stopped, rounds } = pull
  const resume = () =>
    confirm({
      title: `Resume #${number}?`,
      text: [
        'The agent receives the open feedback again: failed checks and requested changes.',
        `The agent works with your permissions and uses tokens. It can work on the feedback up to ${timesOf(maxRounds)}.`,
        rounds > 0 && `So far, it has done so ${timesOf(rounds)}.`,
      ]
        .filter(Boolean)
        .join(' '),
      submit: 'Resume',
      isDanger: false,
      run: async () => {
        put(await client.pullRequests.continue(place))
        announce(`Resumed #${number}.`)
      },
    })
  return (
    <div className="notice">
      <p>Needs a person: {stopped}</p>
      {mayWrite && (
        <div className="tools">
          <Button onClick={resume}>Resume…</Button>
        </div>
      )}
    </div>
  )
}

const timesOf = (count = 0): string => (count === 1 ? 'once' : `${count} times`)

/** The auto-merge switch. It changes immediately and reverts if the request fails. */
function Auto({ value, onChange }: { value: boolean; onChange: (value: boolean) => Promise<unknown> }) {
  const [wanted, setWanted] = useState<boolean>()
  return (
    <Check
      label="Auto-merge"
      value={wanted ?? value}
      onChange={next => {
        setWanted(next)
        void onChange(next)
          .catch(showError)
          .finally(() => setWanted(undefined))
      }}
    />
  )
}
