//! Fetching beside something else.

use playhouse::host::models::background::Background;
use playhouse::host::models::pull::Way;

use super::{Folder, GOOD, silent};
use crate::golden;

#[tokio::test]
async fn the_file_is_told_of_when_it_is_there() {
    let folder = Folder::new().python(GOOD);
    let background = Background::start(folder.order(&[Way::Pip]), silent());
    let mut outcome = background.outcome();
    let path = outcome.wait_for(Option::is_some).await.unwrap().clone().unwrap().unwrap();
    assert_eq!(path, folder.installed());
    assert_eq!(background.end().await, None);
    folder.expect_installed();
}

#[tokio::test]
async fn a_failure_and_a_cut_are_told() {
    let folder = Folder::new().python("echo 'ERROR: no such index' >&2; exit 1");
    let background = Background::start(folder.order(&[Way::Pip]), silent());
    background.outcome().wait_for(Option::is_some).await.unwrap();
    let failure = background.end().await.unwrap();

    let folder = Folder::new().python("read nothing < \"$here/gate\"");
    folder.pipe("gate");
    let background = Background::start(folder.order(&[Way::Pip]), silent());
    let cut = background.end().await.unwrap();
    let outcome = Background::start(folder.order(&[Way::Pip]), silent()).outcome();
    // Dropped at once: whoever waits for the file is told that none will come.
    let mut outcome = outcome;
    assert!(outcome.wait_for(Option::is_some).await.unwrap().clone().unwrap().is_err());
    golden::compare("models/background.golden", &format!("failed: {failure}\ncut: {cut}\n"));
}
