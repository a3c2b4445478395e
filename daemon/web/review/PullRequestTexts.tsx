import { pullRequestLimits } from '../../../src/contract/forges/pullRequests.ts'
import { TextArea, TextInput, type useFields } from '../ui/Inputs.tsx'

interface Texts {
  title: string
  body: string
}
interface Names {
  reviewers: string
  labels: string
}

/** The form fields of a pull request. */
export const PullRequestTexts = ({ bind }: { bind: ReturnType<typeof useFields<Texts>>['bind'] }) => (
  <>
    <TextInput label="Title" required maxLength={pullRequestLimits.title} {...bind('title')} />
    <TextArea label="Body" rows={10} maxLength={pullRequestLimits.body} {...bind('body')} />
  </>
)

export const PullRequestNames = ({ bind }: { bind: ReturnType<typeof useFields<Names>>['bind'] }) => (
  <>
    <TextInput label="Reviewers" hint="User names on the forge, comma-separated." {...bind('reviewers')} />
    <TextInput label="Labels" hint="Labels on the forge, comma-separated." {...bind('labels')} />
  </>
)

/** Parses a field of names, without duplicates. */
export const namesIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map(name => name.trim())
      .filter(Boolean),
  ),
]
