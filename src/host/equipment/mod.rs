//! What a program is equipped with beside playbooks and models: what is declared, opened and closed.

pub mod declaration;
