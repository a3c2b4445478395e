import { useEffect, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { announce } from '../app/messages.ts'
import { reasonOf } from '../app/reasons.ts'
import { client, reloadAll } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Icon } from '../ui/Icon.tsx'
import { usePoll } from '../ui/usePoll.ts'

type Progress = NonNullable<Output<Contract['backups']['restoring']>['progress']>

const steps: readonly (readonly [Progress['step'], string])[] = [
  ['verify', 'Verify the backup'],
  ['keep', 'Back up the current data'],
  ['replace', 'Replace the data'],
]
const pollMs = 300

type Outcome = { keptAs: string } | { error: unknown }

/** Restores a backup, and shows its steps and its end. The dialog cannot be left while the restore runs. */
export function RestoreDialog({ filename, onClose }: { filename: string; onClose: () => void }) {
  const [progress, setProgress] = useState<Omit<Progress, 'filename'>>({ step: 'verify', share: null })
  const [outcome, setOutcome] = useState<Outcome>()
  const isRunning = outcome === undefined
  useEffect(() => {
    announce(`Restoring ${filename}…`)
    void client.backups.restore({ filename }).then(
      ({ keptAs }) => {
        setOutcome({ keptAs })
        announce('Restored the backup.')
        reloadAll()
      },
      (error: unknown) => setOutcome({ error }),
    )
  }, [])
  usePoll(isRunning, pollMs, async () => {
    const now = (await client.backups.restoring()).progress
    if (now) setProgress(now)
  })
  const at = steps.findIndex(([step]) => step === progress.step)
  return (
    <Dialog title={`Restore ${filename}`} onClose={isRunning ? undefined : onClose}>
      <div className="form">
        <ol className="restore-steps">
          {steps.map(([step, text], index) => {
            const isDone = index < at || (outcome !== undefined && 'keptAs' in outcome)
            return (
              <li
                key={step}
                className={index > at ? 'dim' : undefined}
                aria-current={isRunning && index === at && 'step'}
              >
                <span>{text}</span>
                {isDone && <Icon name="check" />}
                {isRunning && index === at && <progress aria-label={text} value={progress.share ?? undefined} />}
              </li>
            )
          })}
        </ol>
        {outcome === undefined && <p className="hint">Running agents are stopped. Keep this page open.</p>}
        {outcome && 'keptAs' in outcome && (
          <p role="status">
            Restored the backup. The previous data is in <code>{outcome.keptAs}</code>. All other people must sign in
            again.
          </p>
        )}
        {outcome && 'error' in outcome && (
          <p className="error" role="alert">
            The restore failed, and the current data is unchanged: {reasonOf(outcome.error)}
          </p>
        )}
        {outcome && (
          <div className="buttons">
            <Button isMain autoFocus onClick={onClose}>
              Close
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  )
}
