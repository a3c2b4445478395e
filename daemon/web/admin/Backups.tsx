import { useRef, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { announce, showError, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Check } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { saveFile } from '../ui/saveFile.ts'
import { formatTime } from '../ui/Time.tsx'
import { tooltip } from '../ui/tooltip.ts'
import { RestoreDialog } from './RestoreDialog.tsx'

type Backup = Output<Contract['backups']['list']>[number]

const origins = { request: 'manual', timetable: 'timetable', restore: 'before a restore', upload: 'uploaded' }

/** The backups that are on the server. */
export function Backups() {
  const loaded = useLoad(() => client.backups.list(), [])
  const [withKey, setWithKey] = useState(false)
  const [restored, setRestored] = useState<string>()
  const { progress, setProgress, withProgress } = useProgress(loaded.reload)
  const make = () =>
    withProgress('Backing up the database and the attachments…', async () => {
      const { filename } = await client.backups.create({ withKey })
      showMessage(`Created and verified ${filename}.`)
    })
  const upload = (file: File) =>
    withProgress(`Uploading ${file.name}…`, async () => {
      const onProgress = (sent: number, total: number) =>
        setProgress({
          text: sent < total ? `Uploading ${file.name}…` : 'The server is verifying the backup…',
          value: sent / total,
        })
      const { filename } = await client.backups.upload({ file: { file, filename: file.name, onProgress } })
      showMessage(`Uploaded and verified ${filename}.`)
    })
  return (
    <>
      <Check
        label="Include the key"
        hint="The key decrypts stored secrets. Without the key, a restore on another machine cannot read them. With the key, keep the file as secret as the secrets."
        value={withKey}
        onChange={setWithKey}
      />
      {progress && (
        <div className="notice" role="status">
          <span>{progress.text}</span>
          <progress aria-label={progress.text} value={progress.value} />
        </div>
      )}
      <ResourceSection
        of={{
          ...loaded,
          value: loaded.value?.map(backup => ({ id: backup.filename, ...backup })),
          set: () => undefined,
        }}
        label="Backups"
        about="A backup is one file with all data of this server: projects, cards, accounts, settings and attachments."
        empty="No backups yet. Create a backup so that you can restore this data."
        row={backup => rowOf(backup, withProgress, setRestored)}
        tools={() => (
          <>
            <Button isMain onClick={make} disabled={progress !== undefined}>
              Create backup
            </Button>
            <Upload isDisabled={progress !== undefined} send={file => void upload(file).catch(showError)} />
          </>
        )}
      />
      {restored !== undefined && <RestoreDialog filename={restored} onClose={() => setRestored(undefined)} />}
    </>
  )
}

/** The running operation and its progress. */
function useProgress(reload: () => Promise<void>) {
  const [progress, setProgress] = useState<{ text: string; value?: number }>()
  const withProgress = async (text: string, run: () => Promise<unknown>) => {
    setProgress({ text })
    announce(text)
    try {
      await run()
      await reload()
    } finally {
      setProgress(undefined)
    }
  }
  return { progress, setProgress, withProgress }
}

function Upload({ isDisabled, send }: { isDisabled: boolean; send: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button disabled={isDisabled} onClick={() => input.current!.click()}>
        Upload backup
      </Button>
      <input
        ref={input}
        hidden
        type="file"
        aria-label="Backup file"
        accept=".gz"
        onChange={({ target }) => {
          const [file] = target.files ?? []
          if (file) send(file)
          target.value = ''
        }}
      />
    </>
  )
}

function rowOf(
  { filename, createdAt, size, origin, verified, withKey, version, sha256 }: Backup,
  withProgress: (text: string, run: () => Promise<unknown>) => Promise<void>,
  restore: (filename: string) => void,
): ResourceRow {
  const download = async () => saveFile({ ...(await client.backups.download({ filename })), filename })
  const ask = () =>
    confirm({
      title: `Restore ${filename}`,
      text: `This restores all projects, cards, accounts and settings from ${formatTime(createdAt)}. The current data is kept as a separate backup. Running agents are stopped, and all other people must sign in again.`,
      submit: 'Restore',
      typed: filename,
      run: async () => restore(filename),
    })
  return {
    name: filename,
    title: <span {...tooltip(`SHA-256: ${sha256}`)}>{filename}</span>,
    badges: [origins[origin], withKey && 'with the key', !verified && 'not verified'],
    about: `${formatTime(createdAt)} · ${sizeOf(size)} · board ${version}`,
    remove: {
      text: 'This permanently deletes the backup. The current data is unchanged.',
      run: () => withProgress('Deleting…', () => client.backups.delete({ filename })),
    },
    actions: [
      { label: 'Download', run: () => withProgress(`Downloading ${filename}…`, download) },
      { label: 'Restore…', run: ask },
    ],
  }
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1000)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
