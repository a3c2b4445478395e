import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import { useProject } from '../app/projects.ts'
import { useStore } from '../app/store.ts'
import { useOpened } from '../card/openedCard.ts'
import { Button } from '../ui/Button.tsx'
import { Failure } from '../ui/Page.tsx'
import { useWide } from '../ui/useWide.ts'
import { FileSection, FileTree } from './FileSection.tsx'
import { BranchTools } from './BranchTools.tsx'
import { ChangesBar } from './ChangesBar.tsx'
import { LandingState } from './LandingState.tsx'
import { Merged } from './Merged.tsx'
import { DraftContext } from './NoteView.tsx'
import { PullRequestPanel } from './PullRequestPanel.tsx'
import { RepositoryChoice } from './RepositoryChoice.tsx'
import type { FileLines } from './reviewDraft.ts'
import { ReviewStore, type CardPlace, type ReadDiff } from './reviewStore.ts'
import { notesOf, type Notes } from './rows.ts'
import { OtherDraft } from './ReviewDialog.tsx'
import { SinceChoice, type Since } from './SinceChoice.tsx'
import { useSplit, useViewed } from './viewedFiles.ts'

interface ReviewViewProps extends Since {
  projectId: string
  cardId: string
}

/** The changes of a card, and its review. */
export function ReviewView({ projectId, cardId, since, onSince }: ReviewViewProps) {
  const opened = useOpened()
  const card = useStore(opened.state, state => state.card)
  const isStale = useStore(opened.state, state => state.isDiffStale)
  const mayWrite = (useProject(projectId)?.role ?? 'viewer') !== 'viewer'
  const [repository, setRepository] = useState('')
  const review = useMemo(() => new ReviewStore({ projectId, cardId }), [projectId, cardId])
  const { diff, error, isReading, reviews = [], repositories = [] } = useStore(review.state)
  useEffect(() => review.start(mayWrite), [review, mayWrite])
  const read = useCallback(async () => {
    opened.state.update(now => ({ ...now, isDiffStale: false }))
    await review.readDiff(since, repository)
    await review.readRepositories()
  }, [opened, review, since, repository])
  useEffect(() => void read(), [read])
  // Before the first content, there is no layout shift.
  const isEmpty = !isReading && (diff === undefined || diff.files.length === 0)
  useEffect(() => {
    if (isStale && isEmpty) void read()
  }, [isStale, isEmpty])
  // A diff since a review can be empty although there is work.
  const hasWork =
    diff !== undefined && (diff.files.length > 0 || since !== undefined || repositories.some(({ touched }) => touched))
  const root = useRef<HTMLDivElement>(null)
  const isWide = useWide(root, 820)
  const [wantsSplit, setSplit] = useSplit()
  const [isViewed, toggleViewed] = useViewed(review.place, diff?.repository ?? '')
  const [mergeResult, setMergeResult] = useMergeResult(cardId, card?.mergedAt)
  return (
    <DraftContext value={review.draft}>
      <div className={isWide ? 'review wide' : 'review'} ref={root}>
        <ChangesBar
          key={cardId}
          review={review}
          card={card}
          diff={diff}
          viewed={diff?.files.filter(isViewed).length ?? 0}
          mayWrite={mayWrite}
          hasWork={hasWork}
          onMerged={setMergeResult}
        >
          <RepositoryChoice all={repositories} repository={repository} onChoose={setRepository} />
          <SinceChoice reviews={reviews} since={since} onSince={onSince} />
          {isWide && (
            <Button aria-pressed={wantsSplit} onClick={() => setSplit(!wantsSplit)}>
              Side by side
            </Button>
          )}
        </ChangesBar>
        {mayWrite && <OtherDraft />}
        {card && <Merged place={review.place} card={card} result={mergeResult} />}
        {card && <LandingState place={review.place} card={card} />}
        {isStale && !isEmpty && <Stale onReload={read} />}
        {diff === undefined && error === undefined && <p className="loading">Loading…</p>}
        {error !== undefined && <Failure error={error} onRetry={read} />}
        {diff && (
          <Files
            key={`files ${diff.repository}`}
            diff={diff}
            review={review}
            isSplit={wantsSplit && isWide}
            isWide={isWide}
            mayWrite={mayWrite}
            isViewed={isViewed}
            onViewed={toggleViewed}
          />
        )}
        {card?.gitBranch && diff && (
          <Branch
            key={`branch ${diff.repository}`}
            place={{ ...review.place, repository: diff.repository }}
            mayWrite={mayWrite}
            hasRemote={repositories.some(({ name, remote }) => name === diff.repository && remote !== null)}
          />
        )}
      </div>
    </DraftContext>
  )
}

/** Returns the result of the last merge in words, until the branch loses the merge, or the card has new work. */
function useMergeResult(cardId: string, mergedAt: string | null | undefined) {
  const [result, setResult] = useState('')
  useEffect(() => {
    if (mergedAt === null) setResult('')
  }, [cardId, mergedAt])
  return [result, setResult] as const
}

const Stale = ({ onReload }: { onReload: () => Promise<void> }) => (
  <div className="notice stale" role="status">
    <p>The files might have changed.</p>
    <Button onClick={onReload}>Reload</Button>
  </div>
)

interface BranchProps {
  place: CardPlace & { repository: string }
  mayWrite: boolean
  hasRemote: boolean
}

/** The card's branch in a repository: its pull request, its update and its push. */
const Branch = ({ place, mayWrite, hasRemote }: BranchProps) => (
  <>
    <PullRequestPanel place={place} mayWrite={mayWrite} hasRemote={hasRemote} />
    {mayWrite && <BranchTools place={place} hasRemote={hasRemote} />}
  </>
)

interface FilesProps {
  diff: ReadDiff
  review: ReviewStore
  isSplit: boolean
  isWide: boolean
  mayWrite: boolean
  isViewed: (file: DiffFile) => boolean
  onViewed: (file: DiffFile) => void
}

function Files({ diff, review, isSplit, isWide, mayWrite, isViewed, onViewed }: FilesProps) {
  const { reviews = [] } = useStore(review.state)
  const { repository } = diff
  const place = useMemo(() => ({ ...review.place, repository }), [review, repository])
  const openLines = useCallback((lines: FileLines) => review.draft.open({ ...lines, repository }), [review, repository])
  const { comments, form } = useStore(review.draft.state)
  const notes = useStableNotes(
    diff.files,
    useMemo(
      () => diff.files.map(file => notesOf(file, { repository: diff.repository, reviews, comments, form })),
      [diff, reviews, comments, form],
    ),
  )
  if (diff.files.length === 0)
    return <p className="dim">{diff.since === undefined ? 'No changes yet.' : 'No changes since that review.'}</p>
  const tree = (
    <FileTree files={diff.files} isViewed={isViewed} commentCount={file => countOf(notes[diff.files.indexOf(file)]!)} />
  )
  return (
    <>
      {isWide ? (
        <div className="tree-side">{tree}</div>
      ) : (
        <details className="tree-fold">
          <summary>Files</summary>
          {tree}
        </details>
      )}
      <div className="files">
        {diff.truncated && <p className="notice">The diff is too large. Only the first part is shown.</p>}
        {mayWrite && (
          <p className="hint">
            To comment, click a line number, or drag to select several lines.{' '}
            <span className="keys-hint">
              Keys: arrows move, Shift selects, c comments, n and p jump between changes, v marks the file as viewed.
            </span>
          </p>
        )}
        {diff.files.map((file, at) => (
          <FileSection
            key={`${file.status} ${file.path}`}
            file={file}
            place={place}
            since={diff.since}
            isSplit={isSplit}
            notes={notes[at]!}
            isViewed={isViewed(file)}
            onViewed={onViewed}
            onComment={mayWrite ? openLines : undefined}
          />
        ))}
      </div>
    </>
  )
}

const countOf = ({ at, outdated }: Notes): number =>
  [...at.values()].reduce((sum, { length }) => sum + length, outdated.length)

const nothing: Notes = { at: new Map(), outdated: [] }
/** Files without notes share one empty value, so that they don't render again. */
function useStableNotes(files: readonly DiffFile[], all: readonly Notes[]): readonly Notes[] {
  return useMemo(() => all.map(notes => (countOf(notes) === 0 ? nothing : notes)), [files, all])
}
