import { announce, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Check, useFields } from '../ui/Inputs.tsx'
import type { Place, Pull, PullDraft } from './pullRequest.ts'
import { namesIn, PullRequestNames, PullRequestTexts } from './PullRequestTexts.tsx'

interface EditPullRequestProps {
  place: Place
  pull: Pull
  /** The current title, body and labels on the forge. */
  present: PullDraft
  onChanged: (pull: Pull) => void
  onClose: () => void
}

/** Edits an open pull request. Unchanged fields are not sent, so that changes by other people are kept. */
export function EditPullRequest({ place, pull, present, onChanged, onClose }: EditPullRequestProps) {
  // Labels with a comma cannot be distinguished in the field, so they are not editable.
  const labels = present.labels.filter(name => !name.includes(','))
  const { values, bind } = useFields({
    title: present.title,
    body: present.body,
    draft: pull.draft,
    reviewers: present.reviewers.join(', '),
    labels: labels.join(', '),
  })
  const save = async () => {
    const [addReviewers, removeReviewers] = difference(present.reviewers, namesIn(values.reviewers))
    const [addLabels, removeLabels] = difference(labels, namesIn(values.labels))
    const change = {
      title: values.title === present.title ? undefined : values.title,
      body: values.body === present.body ? undefined : values.body,
      draft: values.draft === pull.draft ? undefined : values.draft,
      addReviewers,
      removeReviewers,
      addLabels,
      removeLabels,
    }
    if (Object.values(change).some(value => value !== undefined)) {
      const { notTaken, ...changed } = await client.pullRequests.update({ ...place, ...change })
      onChanged(changed)
      if (notTaken.length === 0) announce(`Updated #${pull.number}.`)
      for (const each of notTaken) showMessage(each)
    }
    onClose()
  }
  return (
    <FormDialog title={`Edit #${pull.number}`} kind="wide" submit="Save" onSubmit={save} onClose={onClose}>
      <PullRequestTexts bind={bind} />
      <PullRequestNames bind={bind} />
      <Check label="As a draft" {...bind('draft')} />
    </FormDialog>
  )
}

/** Returns the added and removed names of a list. Undefined if there are none. */
const difference = (before: readonly string[], after: readonly string[]) =>
  [after.filter(name => !before.includes(name)), before.filter(name => !after.includes(name))].map(names =>
    names.length === 0 ? undefined : names,
  )
